import ImgdConnection
import Testing

@testable import ImgctlCommands

/// `imgctl origins`, and what `imgctl doctor` makes of the same answer.
struct OriginsTests {
  private func reply(_ text: String) throws -> Reply { try Reply(Array(text.utf8), from: "test") }

  private var origins: [Reply] {
    get throws { try reply(someOrigins).objects("origins") ?? [] }
  }

  @Test func `each section stands before its hosts, and says why they wait`() throws {
    let daemon = try ScriptedDaemon { request in
      #expect(request == #"{"cmd":"origins"}"#)
      return [.line(someOrigins)]
    }
    let lines = imgctl(["origins"], daemon).output.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(
      lines == [
        "ORIGIN REQUESTS HITS DOWNLOADS ERRORS BYTES FIRST BYTE 99% ACTIVE QUEUED STATE",
        "[*.example] 10 60.0% 4 1 4.0K - - 1 3 its file cannot be used",
        "a.example 8 75.0% 2 1 2.0K 1.5ms 2.0s 1 3 asked to wait, 14s left", "[z.example] 0 - 0 0 0B - - 0 0",
        "b\"c\\x0a 9 0.0% 9 9 0B - - 0 0 refuses with status 403, 9 times in a row",
      ])
  }

  @Test func `all pages are read`() throws {
    let daemon = try ScriptedDaemon { request in
      let isFirst = request == #"{"cmd":"origins"}"#
      if !isFirst { #expect(request == #"{"cmd":"origins","cursor":"7"}"#) }
      let host = isFirst ? "a" : "b"
      return [
        .line(#"{"ok":true,"origins":[{"host":"\#(host)","section":null}],"cursor":\#(isFirst ? "\"7\"" : "null")}"#)
      ]
    }
    #expect(imgctl(["origins"], daemon).output.split(separator: "\n").map { $0.prefix(1) } == ["O", "a", "b"])
  }

  @Test func `doctor tells of a file, an origin that refuses, and a section that matches nothing`() throws {
    let stats = try reply(#"{"process":{"uptime_s":3700}}"#)
    let answers = Interview.Answers(hello: stats, stats: stats, config: stats, origins: try origins)
    let findings = OriginCheck(answers).findings
    #expect(findings.map(\.grade) == [.problem, .note, .note])
    #expect(findings[0].text.contains("HeaderFile=/f cannot be read: Permission denied"))
    #expect(findings[1].text == "b\"c\\x0a refuses with status 403, 9 times in a row, the last time 4s ago")
    #expect(findings[1].remedy?.contains("HeaderFile") == true)
    #expect(findings[2].text == "[Origin z.example] has matched nothing in the 1h 1min that imgd has run")
  }

  @Test func `single refusals are no finding, and many findings are cut`() throws {
    let stats = try reply(#"{"process":{"uptime_s":9}}"#)
    func findings(_ rows: [String]) throws -> [Finding] {
      let origins = try rows.map(reply)
      return OriginCheck(Interview.Answers(hello: stats, stats: stats, config: stats, origins: origins)).findings
    }
    func host(_ refusal: String, section: String = "null", age: Int = 1) -> String {
      #"{"host":"h","section":\#(section),"refusal":{\#(refusal),"age_s":\#(age)}}"#
    }
    #expect(try findings([host(#""status":403,"times":2"#), host(#""code":"connect","times":2"#)]) == [])
    let down = try findings([host(#""code":"connect","times":3"#)])
    #expect(down[0].text == "h cannot be reached (connect), 3 times in a row, the last time 1s ago")
    #expect(try findings([host(#""status":401,"times":3"#, section: #""*.h""#)]).map(\.grade) == [.problem])
    #expect(try findings([host(#""status":401,"times":9"#, age: 3_601)]) == [])
    let unused = (0..<9).map { #"{"section":"\#($0)","requests":0,"downloads":0,"active":0,"queued":0,"since_s":1}"# }
    #expect(try findings(unused).map(\.text).suffix(1) == ["4 more like that: imgctl origins"])
  }

  @Test(
    arguments: [
      ("asked", 13_500, "asked to wait, 14s left"), ("rate", 1_200, "held to its rate, the next one in 2s"),
      ("places", nil, "after others"), ("new_reason", nil, nil),
    ] as [(String, Int?, String?)])
  func `a reason is told in words`(reason: String, wait: Int?, text: String?) {
    #expect(HeldText.text(reason, wait: wait.map { .milliseconds($0) }) == text)
  }
}
