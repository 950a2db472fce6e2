import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Programs of the web that somebody points at the control socket.
@Suite(.enabled(if: access("/usr/bin/curl", X_OK) == 0)) struct WebClientTests {
  private let stage: Stage

  init() throws { stage = try Stage() }

  /// What curl says, without its own words, and its exit code. A curl that waited would end at its limit.
  private func curl(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/usr/bin/curl",
      ["-sS", "--max-time", "600", "--unix-socket", stage.daemon.socket] + arguments
        + ["http://imgd/a.jpg"])
  }

  /// A file of eight megabytes, which no socket takes at once.
  private func largeFile() throws -> String {
    let path = stage.daemon.directory + "/large"
    try write(String(repeating: "{\"cmd\":\"ping\"}\n", count: 8 << 16), to: path)
    return path
  }

  @Test func `curl is told where it is, whatever it sends`() throws {
    let file = try largeFile()
    let calls = [
      try curl(), try curl("--http1.0"), try curl("-d", "a=b"),
      try curl("--data-binary", "@" + file),
      try curl("-H", "Expect: 100-continue", "-d", "a=b"), try curl("-T", file),
      try curl("-H", "Expect:", "-T", file),
      try curl("-H", "Transfer-Encoding: chunked", "-T", file),
    ]
    for call in calls {
      #expect(call.code == 0, "\(call.output)")
      #expect(call.output.hasPrefix("This is the control socket of imgd"))
    }
  }

  @Test func `curl sees the status and the end of the answer`() throws {
    #expect(try curl("-o", "/dev/null", "-w", "%{http_code}").output == "400")
    #expect(try curl("-f").code == 22)
    let head = try curl("-I")
    #expect(head.code == 0 && head.output.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test func `a client that begins with HTTP/2 ends`() throws {
    #expect(try curl("--http2-prior-knowledge").code != 28)
  }

  @Test(.enabled(if: access("/usr/bin/openssl", X_OK) == 0))
  func `a TLS handshake ends`() throws {
    let (code, output) = try ChildProcess.run(
      "/usr/bin/openssl", ["s_client", "-unix", stage.daemon.socket])
    #expect(code == 1)
    #expect(output.contains("SSL"))
  }

  @Test func `the daemon serves others all the while, and keeps no connection`() throws {
    _ = try curl("-T", try largeFile())
    let clients = { try stage.client.ask(#"{"cmd":"stats"}"#)["clients"] }
    // curl may end before the daemon has seen that.
    #expect(try becomes { try clients()?["connected"]?.integer == 1 })
    #expect(try clients()?["errors"]?.integer == 1)
  }
}
