import ImgdSystem
import ImgdWire
import Testing

@testable import ImgdGateway

struct AccessEntryTests {
  private func entry(_ target: String = "/fetch?url=http%3A%2F%2Fh%2Fa", agent: String? = nil) -> AccessEntry {
    var entry = AccessEntry(
      time: 784_111_777_500_000_000, method: "GET", target: target, status: 200, bytes: 12,
      duration: .microseconds(1_500), referer: nil, agent: agent)
    entry.notes.client = AddressKey("192.0.2.7")
    entry.notes.source = .held
    return entry
  }

  private func json(_ entry: AccessEntry) throws -> JSONValue {
    let line = String(decoding: entry.line(as: .json), as: UTF8.self)
    #expect(line.last == "\n" && line.utf8.count { $0 == 10 } == 1)
    return try JSONValue(parsing: line)
  }

  private func combined(_ entry: AccessEntry) -> String { String(decoding: entry.line(as: .combined), as: UTF8.self) }

  @Test func `a line of JSON says all that is known`() throws {
    var entry = entry(agent: "curl/8")
    entry.notes.trace = TraceContext(["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"])
    let line = try json(entry)
    #expect(
      line.encoded() == """
        {"time":"1994-11-06T08:49:37Z","client":"192.0.2.7","method":"GET","target":"/fetch?url=http%3A%2F%2Fh%2Fa",\
        "status":200,"bytes":12,"duration":0.0015,"source":"held","referer":null,"agent":"curl/8",\
        "trace":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7"}
        """)
  }

  @Test func `a combined line is that of nginx`() {
    #expect(
      combined(entry(agent: "curl/8"))
        == "192.0.2.7 - - [06/Nov/1994:08:49:37 +0000] \"GET /fetch?url=http%3A%2F%2Fh%2Fa HTTP/1.1\" 200 12"
        + " \"-\" \"curl/8\"\n")
  }

  @Test func `what is not known has its place`() throws {
    var entry = entry()
    entry.notes = RequestNotes()
    entry.bytes = nil
    entry.isHTTP10 = true
    #expect(combined(entry).hasPrefix("- - - ["))
    #expect(combined(entry).contains(" HTTP/1.0\" 200 - \"-\" \"-\""))
    let line = try json(entry)
    #expect(line["client"] == .null && line["bytes"] == .null && line["source"] == .null && line["trace"] == nil)
  }

  /// What somebody sends to write lines of his own, or to a terminal.
  private static let hostile = [
    "a\"b", "a\\", "\\\" 200 1 \"-\" \"-\"", "\n192.0.2.9 - - [x] \"GET / HTTP/1.1\" 200 1", "\r\n{}", "\u{1b}[2J",
    "\u{0}",
    "\u{7f}\u{9b}1m", "\u{2028}x\u{2029}", "\u{202e}gpj.exe", "é\u{fffd}",
  ]

  @Test(arguments: hostile) func `nobody writes a line of his own`(text: String) throws {
    var entry = entry("/x?" + text, agent: text)
    entry.referer = text
    let line = combined(entry)
    let controls = line.dropLast().unicodeScalars.filter { $0.value < 0x20 || 0x7f...0x9f ~= $0.value }
    #expect(controls.isEmpty && !line.unicodeScalars.contains("\u{202e}") && !line.unicodeScalars.contains("\u{2028}"))
    // A reader that takes an escaped quote for a part of the text finds three texts.
    let texts = line.matches(of: #/"(?:[^"\\]|\\.)*"/#)
    #expect(texts.count == 3 && line.hasSuffix("\(texts[2].0)\n"), "\(line)")
    let members = try #require(json(entry).object).map { $0.name }
    #expect(members.count == 10 && Set(members).count == 10)
  }

  @Test func `a long text is cut`() throws {
    let line = try json(entry("/" + String(repeating: "x", count: 9_000)))
    #expect(line["target"]?.string?.unicodeScalars.count == 2_049)
  }

  @Test(arguments: [
    (
      "/fetch?url=http%3A%2F%2Fh%2Fa&width=3&signature=YBruPwjsyNdchDbDwDcuwRyBViBWUEF6L_IuuMXWtjM",
      "/fetch?url=http%3A%2F%2Fh%2Fa&width=3&signature=YBruPw..."
    ),
    (
      "/fetch?url=h&signature=YBruPwjsyNd&Signature=YBruPwjsyNd&x=1",
      "/fetch?url=h&signature=YBruPw...&Signature=YBruPw...&x=1"
    ),
    (
      "/fetch?url=http%3A%2F%2Fh%2Ffetch%3Fsignature%3DYBruPwjsyNd%26x",
      "/fetch?url=http%3A%2F%2Fh%2Ffetch%3Fsignature%3DYBruPw...%26x"
    ),
    ("//YBruPwjsyNd/w:60/plain/http://h/a", "//YBruPw.../w:60/plain/http://h/a"),
    ("/YBruPwjsyNd/aHR0cDovL2gv/YQ.webp", "/YBruPw.../aHR0cDovL2gv/YQ.webp"),
    ("https://h:1/YBruPwjsyNd/plain/http://h/a", "https://h:1/YBruPw.../plain/http://h/a"),
    ("/insecure/plain/http://h/a", "/insecure/plain/http://h/a"), ("/wordpress/login", "/wordpress/login"),
    (
      "/YBruPwjsyNdchDbDwDcuwRyBViBWUEF6L_IuuMXWtjM/rs:fit:3/plain/http://h/a@webp",
      "/YBruPw.../rs:fit:3/plain/http://h/a@webp"
    ),
    ("/unsafe/plain/http://h/a", "/unsafe/plain/http://h/a"), ("/metrics", "/metrics"),
    ("/fetch?url=http%3A%2F%2Fh%2F%3Fsignature=1", "/fetch?url=http%3A%2F%2Fh%2F%3Fsignature=1"),
  ])
  func `a signature cannot be used again`(target: String, shown: String) {
    #expect(Signatures.shortened(in: target) == shown)
  }
}
