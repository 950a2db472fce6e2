/// A redis-server without persistence that listens on a Unix socket, and perhaps at a loopback port.
struct Redis {
  static let program = "redis-server"
  let child: Child
  let socket: String

  /// `settings` are words of its command line.
  init(
    _ bench: Bench, place: Place = .server, port: CInt = 0, settings: [String] = [], scheduling: [String] = []
  ) throws(BenchFailure) {
    guard Child.exists(Self.program) else { throw .unavailable("redis-server is missing") }
    socket = bench.path("redis")
    child = try bench.serve(
      scheduling + [
        Self.program, "--unixsocket", socket, "--port", "\(port)", "--bind", "127.0.0.1",
        "--save", "", "--appendonly", "no", "--dir", bench.workplace,
      ] + settings, "redis", place: place)
    try child.awaitReady("redis") { [socket] in isListening(socket) }
  }

  /// What a fleet asks of its server.
  static let ofFleet = ["--maxmemory", "1gb", "--maxmemory-policy", "volatile-lfu"]

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
