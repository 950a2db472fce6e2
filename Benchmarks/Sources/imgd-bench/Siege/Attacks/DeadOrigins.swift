/// Servers that hang, and how long a picture of one that lives takes meanwhile.
enum DeadOrigins {
  static let all = [Attack(name: "dead", body: run)]

  private static func run(_ siege: Siege) throws(BenchFailure) {
    for kind in [Origin.Kind.blackhole, .silent, .dripping] {
      for hosts in [1, 20] {
        for count in siege.bench.scaled([4, 40, 400], quick: [40]) {
          try beside(count, kind, hosts: hosts, siege)
          siege.bench.endServers()
        }
      }
    }
  }

  private static func beside(
    _ count: Int, _ kind: Origin.Kind, hosts: Int, _ siege: Siege
  ) throws(BenchFailure) {
    let imgd = try siege.daemon()
    let dead = try Origin(siege.bench, kind, hosts: hosts)
    let live = LivePicture(imgd, try Origin(siege.bench, delay: 0.01))
    let alone = live.time(of: 20)
    let attacker = try Besieger(imgd)
    try attacker.say((0..<count).map { Imgd.fetch(dead.url($0), deliver: "none") })
    let beside = live.time(of: 20)
    siege.bench.report.add(
      Row(
        what: "\(count) \(kind), hosts: \(hosts)", figure: Figure(beside, "s"), peer: "alone",
        ratios: Ratios([beside / alone]), budget: .atMost(1.2)))
  }
}

/// A picture of a server that lives, which is fetched anew each time.
struct LivePicture {
  /// After so many seconds nobody waits for it any more.
  private static let patience = 30.0

  private let socket: String
  private let request: String

  init(_ imgd: Imgd, _ origin: Origin) {
    socket = imgd.socket
    request = Imgd.fetch(origin.url(0), deliver: "none", more: #","cache":"reload""#)
  }

  /// The mean time of so many, one after the other; what does not come counts with the patience.
  func time(of count: Int) -> Double {
    let start = now()
    for done in 1...count {
      let isAnswered = ask(socket, request)?.contains(#""ok":true"#) ?? false
      let seconds = now() - start
      if !isAnswered { return max(seconds, Self.patience) }
      if seconds > Self.patience { return seconds / Double(done) }
    }
    return (now() - start) / Double(count)
  }
}
