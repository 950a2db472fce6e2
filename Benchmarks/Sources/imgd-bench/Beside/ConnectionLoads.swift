/// Very many connections, and how they behave.
enum ConnectionLoads {
  private static let count = 10_000
  /// One user may have half of the places.
  private static let roomy = ["Control.MaxClients=20480"]

  private static let twice = ["Control.MaxClients=2048"]

  static let all = [
    LoadCase(name: "idle", about: "10,000 connections that say nothing", settings: roomy) {
      stage, witness throws(BenchFailure) in
      try Throng(connections: size(stage)).gather(stage.bench, at: witness.socket)
    },
    LoadCase(name: "crowd", about: "10,000 connections, each with a hit a second", settings: roomy) {
      stage, witness throws(BenchFailure) in
      try Throng(connections: size(stage), parts: [stage.hit], interval: 1, repeats: true, reads: true)
        .gather(stage.bench, at: witness.socket)
    },
    LoadCase(name: "refused", about: "10,000 connections, for 1,024 of which there is a place", peer: .none) {
      stage, witness throws(BenchFailure) in
      try Throng(connections: size(stage), reads: true).gather(stage.bench, at: witness.socket)
    },
    LoadCase(
      name: "drip", about: "1,000 clients with a byte each 100 ms, and never a line", settings: twice
    ) { stage, witness throws(BenchFailure) in
      try Throng(
        connections: 1_000, parts: [#"{"cmd":"fetch","url":"http://"# + String(repeating: "a", count: 4_000)], piece: 1,
        interval: 0.1
      ).gather(stage.bench, at: witness.socket)
    },
    LoadCase(name: "half", about: "1,000 clients with half a line", settings: twice) {
      stage, witness throws(BenchFailure) in
      try Throng(
        connections: 1_000, parts: [#"{"cmd":"fetch","url":"http://"# + String(repeating: "a", count: 30_000)]
      ).gather(stage.bench, at: witness.socket)
    },
    LoadCase(name: "churn", about: "5,000 connections a second, each with a ping") {
      stage, witness throws(BenchFailure) in
      try Throng(
        connections: 100, parts: [#"{"cmd":"ping"}"# + "\n"], interval: 100 / 5_000, leaves: true
      ).gather(stage.bench, at: witness.socket)
    },
  ]

  private static func size(_ stage: LoadStage) -> Int { stage.bench.scaled(count, quick: 1_000) }
}
