/// The gateway before an instance of the daemon, on a Unix socket.
struct ImgdHTTP {
  let child: Child
  let socket: String

  /// Asks for pictures of this machine alone, which is where the origins of the bench are.
  init(_ bench: Bench, before imgd: Imgd, place: Place = .server, scheduling: [String] = []) throws(BenchFailure) {
    let program = bench.options.program("imgd-http")
    guard File.isProgram(program) else { throw .unavailable("imgd-http is missing at \(program)") }
    socket = bench.path("http")
    child = try bench.serve(
      scheduling + [
        program, "--config", "/dev/null", "--socket", imgd.socket, "--listen", socket,
        "--set", "HTTP-Gateway.Allow=127.0.0.1",
      ], "imgd-http", place: place)
    try child.awaitReady("imgd-http") { [socket] in isListening(socket) }
  }

  /// Requests for pictures, or another form of them, in turn; the URLs have the same length.
  func hits(_ urls: [String], form: String = "") -> Contender {
    Contender(
      name: "imgd-http", socket: socket,
      requests: urls.map { Array("GET /fetch?url=\($0)\(form) HTTP/1.1\r\nHost: a\r\n\r\n".utf8) },
      framing: .pages)
  }

  /// The body of an answer, by a connection of its own.
  func body(_ target: String, _ bench: Bench) throws(BenchFailure) -> [UInt8] {
    let file = bench.path("body")
    try Child.finish(
      ["curl", "-sS", "-f", "-o", file, "--unix-socket", socket, "http://localhost" + target],
      log: bench.path("curl.log"))
    return File.read(file) ?? []
  }
}
