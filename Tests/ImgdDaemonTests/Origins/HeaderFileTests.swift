import Glibc
import ImgdProgram
import ImgdSystem
import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

@testable import ImgdDaemon

/// `HeaderFile` in a section `[Origin …]`: credentials of the machine.
struct HeaderFileTests {
  private static let secret = "Bearer s3cr3t-0f-th3-machine"

  private let directory = TemporaryDirectory()

  private var path: String { directory.path + "/headers" }

  private func leave(_ text: String, mode: mode_t = 0o600) throws {
    try write(text, to: path)
    chmod(path, mode)
  }

  private func stage(_ settings: String...) throws -> CoreStage {
    try leave("# photos\n\nAuthorization: \(Self.secret)\nX-Team: pictures\n")
    return try CoreStage(["Origin 127.0.0.1.HeaderFile=\(path)"] + settings)
  }

  private var fields: [HeaderField] {
    [HeaderField("Authorization", Self.secret), HeaderField("X-Team", "pictures")]
  }

  @Test func `every request to the hosts of the section has the fields, and no other`() throws {
    let stage = try stage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .picture(png()))
    try stage.fetch("/a")
    let url = stage.origin.url("/b", host: "other.example")
    #expect(try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)["ok"]?.text == "true")
    #expect(stage.origin.orders.map(\.headers) == [fields, []])
  }

  @Test func `what they open is for everybody on the machine`() throws {
    let stage = try stage()
    stage.origin.plan("/a", .picture(png()))
    try stage.fetch("/a")
    #expect(try stage.fetch("/a", on: stage.connect(as: 4_242))["source"]?.text == "\"memory\"")
    try stage.restart()
    #expect(try stage.fetch("/a")["source"]?.text == "\"disk\"")
  }

  @Test func `a redirect that leaves the hosts leaves the fields behind`() throws {
    let stage = try stage()
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b", host: "other.example")))
    stage.origin.plan("/b", .redirect(to: stage.origin.url("/c")))
    stage.origin.plan("/c", .picture(png()))
    try stage.fetch("/a")
    #expect(stage.origin.orders.map(\.headers) == [fields, [], fields])
  }

  @Test func `a field that a client sends stays, and the picture is then that client's`() throws {
    let stage = try stage()
    stage.origin.plan("/a", .picture(png()))
    let fetch = #"{"cmd":"fetch","url":"ORIGIN/a","headers":{"authorization":"mine"}}"#
    try stage.play("> \(fetch)\n" + #"< {"ok":true,"source":"network"}"#)
    #expect(stage.origin.orders[0].headers == [HeaderField("authorization", "mine"), fields[1]])
    #expect(try stage.fetch("/a", on: stage.connect(as: 4_242))["source"]?.text == "\"network\"")
  }

  @Test func `a fallback gets the fields of its own section alone`() throws {
    let stage = try stage("Origin 127.0.0.1.Fallback=https://mirror.example{path}")
    stage.origin.plan("/a", .status(500), .picture(png()))
    try stage.fetch("/a")
    #expect(stage.origin.orders.map(\.headers) == [fields, []])
  }

  @Test func `the secret is in no answer and no event`() throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/b", .status(403))
    stage.origin.plan("/c", .fails(.connect))
    let listener = try stage.connect()
    var lines = [try listener.ask(#"{"cmd":"subscribe"}"#)]
    for path in ["a", "b", "c"] {
      try stage.client.send(#"{"cmd":"fetch","url":"\#(stage.base)/\#(path)","progress":true,"http":true}"#)
    }
    stage.settle()
    let asker = try stage.connect()
    for command in ["stats", "list", "config", "hello", "slots", "origins"] {
      lines.append(try asker.ask(#"{"cmd":"\#(command)"}"#))
    }
    gate.open()
    stage.settle()
    lines.append(try asker.ask(#"{"cmd":"entries"}"#))
    lines.append(try asker.ask(#"{"cmd":"query","url":"\#(stage.base)/a"}"#))
    lines.append(try asker.ask(#"{"cmd":"stats"}"#))
    for client in [stage.client, listener] { while let line = try client.receiveNow() { lines.append(line) } }
    #expect(stage.origin.orders.count == 3 && stage.origin.orders.allSatisfy { $0.headers == fields })
    #expect(lines.count > 12)
    for line in lines { #expect(!line.text.contains("s3cr3t"), "\(line.text)") }
    #expect(lines.contains { $0.text.contains(path) }, "the configuration names the file")
  }

  // MARK: Files

  private func load(_ name: String? = nil, environment: [String: String] = [:], checks: Bool = false) throws
    -> Configuration
  {
    let options = ["--set", "Origin example.org.HeaderFile=\(name ?? path)"] + (checks ? ["--check-config"] : [])
    return try ConfigurationLoader.load(
      CommandLineOptions.parse(options), environment: environment, uid: 0, systemFile: "/nowhere")
  }

  private func complaint(_ name: String? = nil, environment: [String: String] = [:], checks: Bool = false) -> String? {
    do {
      _ = try load(name, environment: environment, checks: checks)
      return nil
    } catch { return "\(error)" }
  }

  @Test(arguments: [
    ("X", "line 1 is not a field: write Name: value"), ("\nX:\n", "line 2 is not a field: write Name: value"),
    ("X: a\nRange: s3cr3t\n", "line 2 has Range, which only the daemon sets"),
    ("If-None-Match: s3cr3t\n", "line 1 has If-None-Match, which only the daemon sets"),
    ("X y: s3cr3t\n", "line 1 has no name of a field before its colon"),
    ("X: s3cr3t\u{1}s\n", "line 1 has a control character in its value"),
    ("# nothing\n", "does not have 1 to 32 fields, each with a name of its own"),
    ("X: s3cr3t\nx: b\n", "does not have 1 to 32 fields, each with a name of its own"),
  ])
  func `a mistake in a file names its line, and no value`(text: String, expected: String) throws {
    try leave(text)
    let separator = expected.hasPrefix("line") ? ": " : " "
    #expect(
      complaint()
        == "--set: Origin example.org.HeaderFile=\(path)\(separator)\(expected)")
    #expect(complaint(checks: true) == complaint())
  }

  @Test(arguments: [0o644, 0o604, 0o602, 0o601])
  func `a file that is open to others is a mistake`(mode: UInt32) throws {
    try leave("X: y\n", mode: mode)
    #expect(complaint()?.contains("HeaderFile=\(path) is open to every user (mode 0\(String(mode, radix: 8)))") == true)
    chmod(path, 0o640)
    #expect(complaint() == nil)
  }

  @Test func `a file that is missing, or none, is a mistake`() {
    #expect(complaint()?.contains("HeaderFile=\(path) cannot be read: ") == true)
    #expect(complaint(directory.path)?.contains("HeaderFile=\(directory.path) cannot be read: ") == true)
    #expect(complaint("a/b")?.contains("is neither an absolute path nor the name of a credential") == true)
  }

  @Test func `a plain name is a credential of the service`() throws {
    try leave("X: y\n", mode: 0o400)
    let environment = ["CREDENTIALS_DIRECTORY": directory.path]
    let origin = try load("headers", environment: environment).origins.values.first
    #expect(origin?.headers?.value == [HeaderField("X", "y")])
    #expect(complaint("headers")?.contains("write LoadCredential=headers:/path/of/the/file in its unit") == true)
    // Who only checks the configuration does not have the service's credentials.
    #expect(complaint("headers", checks: true) == nil)
    #expect(complaint("..", environment: environment) != nil)
  }

  @Test func `a file is read again when it changes, and a wrong one changes nothing`() throws {
    try leave("X: 1\n")
    let options = try CommandLineOptions.parse([
      "--config", "/dev/null", "--set", "Origin example.org.HeaderFile=\(path)",
    ])
    let source = ConfigurationSource(options: options, environment: [:])
    let clock = LoopClock.manual()
    let loop = try EventLoop(clock: clock)
    let reloader = try Reloader(source: source, read: try source.load { _ in }, loop: loop)
    var seen: [[HeaderField]] = []
    reloader.onReload = { seen.append($0.origins.values.first?.headers?.value ?? []) }
    let look = { reloader.lookAtFiles(clock, loop) }
    try leave("X: 2\n")
    look()
    #expect(seen.first == [HeaderField("X", "2")])
    seen = []
    try leave("X: 3\n", mode: 0o644)
    look()
    #expect(seen.allSatisfy { $0 == [HeaderField("X", "2")] }, "neither the look nor the reload has taken it")
    #expect(reloader.current.origins.values.first?.headers?.value == [HeaderField("X", "2")])
    #expect(reloader.current.origins.values.first?.headers?.problem?.contains("is open to every user") == true)
    seen = []
    try leave("X: 4\n")
    look()
    #expect(seen.first == [HeaderField("X", "4")])
    #expect(reloader.current.origins.values.first?.headers?.problem == nil)
    reloader.stop()
    loop.close()
  }
}

extension Reloader {
  /// Has it look at the files of sections, and then read the configuration.
  func lookAtFiles(_ clock: LoopClock, _ loop: EventLoop) {
    clock.advance(by: .seconds(2))
    loop.tick(waiting: false)
    // The reading of the configuration comes after the look at the file, on the same thread.
    var isOver = false
    reload { _ in isOver = true }
    while !isOver { loop.tick(waiting: true) }
  }
}
