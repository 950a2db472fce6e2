import Testing

@testable import ImgdConnection

struct ClientReplyTests {
  private func reply(_ line: String) throws -> Reply {
    try Reply(Array(line.utf8), from: "s")
  }

  @Test func `an answer is read`() throws {
    let answer = try reply(
      #"  {"id":7,"ok":true,"path":null,"bytes":48211,"elapsed_ms":1.7,"tags":["a","b"],"#
        + #""memory":{"entries":2}, "fds":[{"kind":"encoded","bytes":3}] }"# + "\r")
    #expect(answer.succeeded == true)
    #expect(answer.id == 7)
    #expect(answer.event == nil)
    #expect(answer.text("path") == nil)
    #expect(answer.number("bytes") == 48_211)
    #expect(answer.number("elapsed_ms") == nil)
    #expect(answer.object("memory")?.number("entries") == 2)
    #expect(answer.objects("fds")?.first?.text("kind") == "encoded")
    #expect(answer.objects("tags")?.isEmpty == true)
    #expect(
      answer.fields.map { answer.display($0) } == [
        "7", "yes", "-", "48211", "1.7", "a b", "entries=2", "kind=encoded bytes=3",
      ])
    #expect(answer.display("nothing") == "-")
  }

  @Test func `an error is read`() throws {
    let answer = try reply(#"{"ok":false,"error":{"code":"dns","message":"no such host"}}"#)
    #expect(answer.succeeded == false)
    #expect(answer.errorCode == "dns")
    #expect(answer.errorMessage == "no such host")
    #expect(try reply(#"{"event":"progress","id":1}"#).succeeded == nil)
  }

  @Test(arguments: [
    (#"a\"b\\c\/d"#, "a\"b\\c/d"), (#"\b\f\n\r\t"#, "\u{8}\u{C}\n\r\t"), (#"\u00e4"#, "ä"),
    (#"\ud83d\ude00"#, "😀"), ("日本", "日本"),
  ])
  func `escapes in a reply are decoded`(written: String, meant: String) throws {
    #expect(try reply("{\"x\":\"\(written)\"}").text("x") == meant)
  }

  @Test(arguments: [
    "", " ", "[]", "1", "\"x\"", "null", "{", "}", "{}x", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
    "{a:1}", "{\"a\":tru}", "{\"a\":truex}", "{\"a\":1.2.3}", "{\"a\":-}", "{\"a\":[1,]}",
    "{\"a\":[1 2]}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u12\"}", "{\"a\":\"\n\"}", "{\"a\":\"",
    "{\"a\":\"\\", "{\"a\":\"\\ud83d\\u\"}", "HTTP/1.1 400 Bad Request", #"{"a":"\ud83d"}"#,
    #"{"a":"\ude00x"}"#, #"{"a":"\ud83d\u0041"}"#,
  ])
  func `a line that is not a reply is refused`(line: String) {
    #expect(throws: ConnectionProblem.self) { try reply(line) }
  }

  @Test func `deep nesting is refused`() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: ConnectionProblem.self) { try reply("{\"a\":" + deep) }
    #expect(throws: ConnectionProblem.self) {
      try reply(String(repeating: "{\"a\":", count: 100_000))
    }
  }

  @Test func `an answer cut anywhere is refused`() {
    let whole = Array(#"{"a":[true,null,-1.5e3,"\u00e4\ud83d\ude00"],"b":{"c":"\\"}}"#.utf8)
    #expect(throws: Never.self) { try Reply(whole, from: "s") }
    for length in 0..<whole.count {
      #expect(throws: ConnectionProblem.self) { try Reply(Array(whole[..<length]), from: "s") }
    }
    for place in whole.indices {
      for byte in Array("\"\\{}[],:-u0".utf8) + [0, 9, 10, 0x80, 0xFF] {
        var changed = whole
        changed[place] = byte
        _ = try? Reply(changed, from: "s")
      }
    }
  }
}
