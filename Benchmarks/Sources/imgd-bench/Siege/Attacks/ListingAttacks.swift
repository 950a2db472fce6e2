/// Answers that are long or take long to find, and events for many.
enum ListingAttacks {
  static let all = [
    Attack(name: "stats", body: stats), Attack(name: "config", body: config),
    Attack(name: "list", body: list), Attack(name: "entries", body: entries),
    Attack(name: "subscribers", body: subscribers),
  ]

  private static func stats(_ siege: Siege) throws(BenchFailure) {
    let connections = siege.bench.scaled(1_000, quick: 100)
    let imgd = try siege.daemon()
    let attacker = try Besieger(imgd, connections: connections)
    try siege.watch("\(connections) × 300 stats", on: imgd) { () throws(BenchFailure) in
      try attacker.say(Array(repeating: #"{"cmd":"stats"}"#, count: 300))
    }
    siege.note(attacker)
  }

  private static func config(_ siege: Siege) throws(BenchFailure) {
    let imgd = try siege.daemon()
    let attacker = try Besieger(imgd)
    try siege.watch("config × 1,000", on: imgd, atLeast: 1) { () throws(BenchFailure) in
      try attacker.say(Array(repeating: #"{"cmd":"config"}"#, count: 1_000))
    }
    siege.note(attacker)
  }

  /// Fetches with URLs that are as long as they may be: one answer would have 80 MB.
  private static func list(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(9_995, quick: 995)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench, .silent)
    let crowd = try Besieger(imgd)
    let query = "?" + String(repeating: "q", count: 8_000)
    for start in stride(from: 0, to: count, by: 500) {
      try crowd.say(
        (start..<min(start + 500, count)).map {
          Imgd.fetch(origin.url($0) + query, deliver: "none")
        })
    }
    let attacker = try Besieger(imgd)
    try siege.watch("list × 20 of \(count)", on: imgd, atLeast: 1) { () throws(BenchFailure) in
      try attacker.say(Array(repeating: #"{"cmd":"list"}"#, count: 20))
    }
    siege.note(attacker)
  }

  /// A prefix that nothing has: every entry is looked at.
  private static func entries(_ siege: Siege) throws(BenchFailure) {
    let imgd = try siege.daemon(holding: siege.bench.scaled(130_000, quick: 10_000))
    let attacker = try Besieger(imgd)
    try siege.watch("empty entries × 10", on: imgd, atLeast: 1) { () throws(BenchFailure) in
      try attacker.say(
        Array(repeating: #"{"cmd":"entries","prefix":"http://none/"}"#, count: 10))
    }
    siege.note(attacker)
  }

  /// Many want to hear of everything that anybody does.
  private static func subscribers(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(1_000, quick: 100)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench)
    let hit = Imgd.fetch(origin.url(0), deliver: "path")
    try imgd.expect(hit)
    let attacker = try Besieger(imgd, connections: count)
    try attacker.say([#"{"cmd":"subscribe","events":["jobs"]}"#])
    try siege.watch("\(count) subscribers", on: imgd, asking: hit, every: 0) {
      attacker.read(for: siege.bench.scaled(3, quick: 1))
    }
    siege.note(attacker)
  }
}
