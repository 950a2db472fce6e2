/// Very many requests, and clients that do not read what they have asked for.
enum RequestLoads {
  static let all = [
    LoadCase(name: "queue", about: "100,000 fetches in the queue, of two users with 25 connections each", peer: .none) {
      stage, _ throws(BenchFailure) in
      try Queue(stage, stage.bench.scaled(50_000, quick: 5_000), users: [Besieger.nobody, Besieger.nobody - 1])
    },
    LoadCase(name: "queue-one", about: "100,000 fetches of one user, who may have 50,000 in the queue", peer: .none) {
      stage, _ throws(BenchFailure) in
      try Queue(stage, stage.bench.scaled(100_000, quick: 60_000), users: [Besieger.nobody])
    },
    LoadCase(name: "hits-unread", about: "a client that asks for hits without end, and never reads", peer: .redis) {
      stage, witness throws(BenchFailure) in
      try unread(witness.name == "redis" ? witness.request : stage.hit, stage, witness)
    },
    LoadCase(name: "stats-unread", about: "the same with stats, as root", peer: .none) {
      stage, witness throws(BenchFailure) in
      try unread(#"{"cmd":"stats"}"# + "\n", stage, witness, user: 0)
    },
    LoadCase(name: "misses-unread", about: "the same with what is not in the cache", peer: .none) {
      stage, witness throws(BenchFailure) in
      let lines = (0..<100_000).map { Imgd.fetch(stage.origin.url($0), deliver: "none") + "\n" }
      return try unread(lines.joined(), stage, witness)
    },
    LoadCase(name: "descriptors", about: "400 clients that ask for descriptors, and never read", peer: .none) {
      stage, witness throws(BenchFailure) in
      let line = Imgd.fetch(stage.url, deliver: "fd") + "\n"
      return try Throng(
        connections: 400, parts: [String(repeating: line, count: 1_000)], repeats: true
      ).gather(stage.bench, at: witness.socket)
    },
    LoadCase(name: "hits-read", about: "a client that asks for hits without end, and reads them", peer: .redis) {
      stage, witness throws(BenchFailure) in
      let line = witness.name == "redis" ? witness.request : stage.hit
      return try Throng(
        parts: [String(repeating: line, count: 1_000)], repeats: true, reads: true
      ).gather(stage.bench, at: witness.socket)
    },
  ]

  /// One client that says a line, or many, again and again.
  private static func unread(
    _ lines: String, _ stage: LoadStage, _ witness: Witness, user: Int = Besieger.nobody
  ) throws(BenchFailure) -> any SideLoad {
    let text = String(repeating: lines, count: lines.utf8.count < 1_000 ? 10_000 : 1)
    return try Throng(user: user, parts: [text], repeats: true).gather(stage.bench, at: witness.socket)
  }
}

/// Fetches of different URLs of a server that says nothing, from 25 connections of each user.
private final class Queue: SideLoad {
  private static let connections = 25
  private let besiegers: [Besieger]
  private let queued: Int

  init(_ stage: LoadStage, _ count: Int, users: [Int]) throws(BenchFailure) {
    var besiegers: [Besieger] = []
    let each = count / Self.connections
    for (place, user) in users.enumerated() {
      let besieger = try Besieger(stage.imgd, connections: Self.connections, user: user)
      try besieger.say(
        parts: (0..<Self.connections).map { connection in
          (0..<each).map { Imgd.fetch(stage.origin.url((place * 100 + connection) * each + $0), deliver: "none") }
        })
      besiegers.append(besieger)
    }
    self.besiegers = besiegers
    queued = try stage.imgd.stat("downloads", "queued")
  }

  func end() -> String {
    let tallies = besiegers.map(\.tally)
    besiegers.forEach { $0.leave() }
    return "\(queued) in the queue, \(tallies.reduce(0) { $0 + $1.refusals }) refused, "
      + "\(tallies.reduce(0) { $0 + $1.closed }) connections closed"
  }
}
