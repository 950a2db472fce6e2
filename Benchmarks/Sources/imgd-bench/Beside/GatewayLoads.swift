/// Clients of the gateway.
enum GatewayLoads {
  static let all = [
    LoadCase(
      name: "http", about: "1,000 clients over HTTP, each with a hit a second", peer: .nginx, hasGateway: true
    ) { stage, witness throws(BenchFailure) in
      try Throng(
        connections: 1_000, parts: [page(stage, witness)], interval: 1, repeats: true, reads: true
      ).gather(stage.bench, at: socket(stage, witness))
    },
    LoadCase(
      name: "http-drip", about: "1,000 clients over HTTP with a byte of a head each 100 ms", peer: .nginx,
      hasGateway: true
    ) { stage, witness throws(BenchFailure) in
      let head = "GET /fetch?url=\(stage.url) HTTP/1.1\r\nHost: a\r\nX-Long: " + String(repeating: "a", count: 4_000)
      return try Throng(connections: 1_000, parts: [head], piece: 1, interval: 0.1).gather(
        stage.bench, at: socket(stage, witness))
    },
    LoadCase(
      name: "http-flood", about: "1,000 clients over HTTP, all hits without end", peer: .nginx, hasGateway: true
    ) { stage, witness throws(BenchFailure) in
      try Throng(
        connections: 1_000, parts: [page(stage, witness)], repeats: true, reads: true
      ).gather(stage.bench, at: socket(stage, witness))
    },
  ]

  /// Clients of the gateway are beside the witness at the daemon as well.
  private static func socket(_ stage: LoadStage, _ witness: Witness) -> String {
    witness.name == "nginx" ? witness.socket : stage.gateway?.socket ?? witness.socket
  }

  private static func page(_ stage: LoadStage, _ witness: Witness) -> String {
    witness.name == "nginx" ? witness.request : stage.witnesses.first { $0.name == "imgd-http" }?.request ?? ""
  }
}
