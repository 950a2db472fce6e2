import Glibc

/// Wake-ups of the idle daemon, against redis, which has a periodic timer.
enum Idle {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let imgd = bench.start("imgd") { () throws(BenchFailure) in try Imgd(bench) }
    let redis = bench.start("redis") { () throws(BenchFailure) in try Redis(bench) }
    let children = [imgd?.child, redis?.child].compactMap { $0 }
    let seconds = bench.scaled(10, quick: 2)
    sleep(1)
    let before = try children.map { child throws(BenchFailure) in try ProcessMeter(child).sleeps }
    sleep(UInt32(seconds))
    let after = try children.map { child throws(BenchFailure) in try ProcessMeter(child).sleeps }
    let wakes = zip(after, before).map { Double($0 - $1) / Double(seconds) }
    if imgd != nil, let own = wakes.first {
      bench.report.add(
        Row(
          what: "imgd wake-ups a second", figure: Figure(own, ""), peer: "one in 10 s",
          ratios: Ratios([own * 10]), budget: .atMost(1)))
    }
    guard redis != nil, wakes.count == 2, let peer = wakes.last else { return }
    bench.report.add(
      Row(
        what: "imgd wake-ups a second", figure: Figure(wakes[0], ""), peer: "redis",
        ratios: Ratios([wakes[0] / peer])))
  }
}
