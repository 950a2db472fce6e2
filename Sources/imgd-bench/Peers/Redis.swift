/// A redis-server without persistence that listens only on a Unix socket.
struct Redis {
  static let program = "redis-server"
  let child: Child
  let socket: String

  init(_ bench: Bench) throws(BenchFailure) {
    guard Child.exists(Self.program) else { throw .unavailable("redis-server is missing") }
    socket = bench.path("redis")
    child = try bench.serve(
      [
        Self.program, "--unixsocket", socket, "--port", "0", "--save", "", "--appendonly", "no",
        "--dir", bench.workplace,
      ], "redis", place: .server)
    try child.awaitReady("redis") { [socket] in isListening(socket) }
  }

  func set(_ key: String, _ value: [UInt8]) throws(BenchFailure) {
    _ = try Load(batches: 1).run(
      on: socket, batch: Self.command([Array("SET".utf8), Array(key.utf8), value]))
  }

  func get(_ key: String) -> Contender {
    let request = Self.command([Array("GET".utf8), Array(key.utf8)])
    return Contender(name: "redis GET", socket: socket, request: request, framing: .bulks)
  }

  /// Each of many keys in turn, whose names have the same length.
  func getMany(_ keys: [String]) -> Contender {
    let requests = keys.map { Self.command([Array("GET".utf8), Array($0.utf8)]) }
    return Contender(name: "redis many", socket: socket, requests: requests, framing: .bulks)
  }

  static func command(_ words: [[UInt8]]) -> [UInt8] {
    var bytes = Array("*\(words.count)\r\n".utf8)
    for word in words {
      bytes += Array("$\(word.count)\r\n".utf8) + word + Array("\r\n".utf8)
    }
    return bytes
  }
}
