import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The one-liners of the protocol's reference page, typed as they stand there.
@Suite(.enabled(if: access("/usr/bin/socat", X_OK) == 0 && access("/usr/bin/jq", X_OK) == 0))
struct ShellExamples {
  private let stage: Stage

  init() throws {
    stage = try Stage()
    stage.origin.plan(
      "/a.jpg", .picture(TestPicture.jpeg(width: 640, height: 480), type: "image/jpeg"))
  }

  /// The commands of the page under the comment that begins so, with this test's socket and URL.
  private func command(_ comment: String) throws -> String {
    let page = read(ProtocolExamples.page) ?? ""
    let blocks = page.split(separator: "\n\n").map { $0.split(separator: "\n") }
    for block in blocks {
      let lines = block.drop { !$0.hasPrefix("# " + comment) }.dropFirst()
      guard lines.contains(where: { $0.contains("/run/imgd/imgd.sock") }) else { continue }
      return lines.filter { $0 != "```" }.joined(separator: "\n")
        .replacing("/run/imgd/imgd.sock", with: stage.daemon.socket)
        .replacing("https://example.org/a.jpg", with: stage.origin.url("/a.jpg"))
    }
    throw TestFailure("the page has no command for: \(comment)")
  }

  private func type(_ command: String) throws -> pid_t {
    let line = "cd \(stage.daemon.directory) && \(command)"
    return try ChildProcess.spawn(
      "/bin/sh", ["-c", line], output: stage.daemon.directory + "/said")
  }

  private func run(_ command: String) throws -> String {
    #expect(ChildProcess.wait(try type(command)) == 0)
    return read(stage.daemon.directory + "/said") ?? ""
  }

  @Test func `what a picture is, though its origin takes longer than a reader is patient`() throws {
    let gate = Gate()
    stage.origin.plan(
      "/a.jpg",
      .held(at: gate, then: .picture(TestPicture.jpeg(width: 640, height: 480))))
    let shell = try type(try command("One picture: what it is."))
    #expect(gate.waitUntilReached())
    // Three spaces, a quarter of a second each, on a connection that waits in the same way.
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.jpg"}"#)
    stage.client.halfClose()
    var spaces = 0
    while spaces < 3 { spaces += try stage.client.receiveRaw().count }
    gate.open()
    #expect(ChildProcess.wait(shell) == 0)
    let said = try JSONValue(parsing: read(stage.daemon.directory + "/said") ?? "")
    let shown = #"{"format":"jpeg","width":640,"height":480,"bytes":"…"}"#
    #expect(said.difference(from: try JSONValue(parsing: shown)) == nil, "\(said.text)")
  }

  @Test func `a picture into a file`() throws {
    _ = try run(try command("Into a file."))
    let file = readBytes(stage.daemon.directory + "/a.jpg")
    #expect(file == TestPicture.jpeg(width: 640, height: 480))
  }

  @Test func `a list of pictures over one connection`() throws {
    for number in 0..<20 { stage.origin.plan("/\(number)", .picture(png())) }
    let urls = (0..<20).map { stage.origin.url("/\($0)") }.joined(separator: "\n")
    try write(urls + "\n", to: stage.daemon.directory + "/urls.txt")
    let lines = try run(try command("A list of them")).split(separator: "\n")
    #expect(lines.count == 20)
    #expect(lines.allSatisfy { $0.contains(#""ok":true"#) })
  }

  @Test func `how the cache does`() throws {
    try stage.fetch("/a.jpg")
    let said = try JSONValue(parsing: try run(try command("How the cache is doing.")))
    #expect(said["entries"] == .integer(1))
  }

  @Test(.enabled(if: access("/usr/bin/nc", X_OK) == 0)) func `how the cache does, by nc`() throws {
    try stage.fetch("/a.jpg")
    let said = try JSONValue(parsing: try run(try command("How the cache is doing, by nc.")))
    #expect(said["entries"] == .integer(1))
  }

  @Test func `never mind`() throws {
    stage.origin.plan("/a.jpg", .silence)
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.jpg","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#
    )
    // Until the disk has said that it has none, the fetch is queued.
    #expect(stage.origin.waitForRequests("/a.jpg"))
    let said = try run(try command("Never mind."))
    #expect(said.contains(#""state":"running""#))
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"cancelled"}}"#)
  }
}

extension String {
  fileprivate func replacing(_ old: String, with new: String) -> String {
    split(separator: old, omittingEmptySubsequences: false).joined(separator: new)
  }
}
