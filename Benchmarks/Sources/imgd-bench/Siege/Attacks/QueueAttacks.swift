/// Many requests of one client, in the way of one of another.
enum QueueAttacks {
  static let all = [Attack(name: "slots", body: slots), Attack(name: "share", body: share)]

  /// Every request in a slot supersedes the one before.
  private static func slots(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(9_999, quick: 999)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench, .silent)
    let parts = (0..<9).map { part in
      (0..<count).map { number in
        Imgd.fetch(origin.url(part * count + number), deliver: "none", more: #","slot":"view""#)
      }
    }
    let attacker = try Besieger(imgd, connections: parts.count)
    try siege.watch("9 × \(count) in one slot", on: imgd) { () throws(BenchFailure) in
      try attacker.say(parts: parts)
    }
    siege.note(attacker)
  }

  /// One client's pictures that wait, and the time of another's one: at most one transfer's more.
  private static func share(_ siege: Siege) throws(BenchFailure) {
    let count = 500
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench, delay: 0.1)
    let live = LivePicture(imgd, origin)
    let alone = live.time(of: 5)
    let attacker = try Besieger(imgd)
    try attacker.say((1...count).map { Imgd.fetch(origin.url($0), deliver: "none") })
    let beside = live.time(of: 1)
    siege.bench.report.add(
      Row(
        what: "one beside \(count) queued", figure: Figure(beside, "s"), peer: "alone",
        ratios: Ratios([beside / alone]), budget: .atMost(2)))
  }
}
