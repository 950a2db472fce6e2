import ImgdConnection
import Testing

@testable import ImgctlCommands

@Suite struct DoctorTests {
  private static func show(socket: String, file: String, service: String) -> String {
    """
    Id=imgd.socket
    LoadState=\(socket == "none" ? "not-found" : "loaded")
    ActiveState=\(socket)
    UnitFileState=\(file)

    Id=imgd.service
    LoadState=loaded
    ActiveState=\(service)
    UnitFileState=static

    """
  }

  @Test(arguments: [
    (show(socket: "active", file: "enabled", service: "inactive"), ["ok"]),
    (show(socket: "active", file: "disabled", service: "active"), ["note"]),
    (show(socket: "inactive", file: "disabled", service: "inactive"), ["problem"]),
    (show(socket: "active", file: "enabled", service: "failed"), ["problem", "ok"]),
    (show(socket: "none", file: "", service: "inactive"), ["note"]),
    ("", ["note"]),
  ])
  func `the units are judged by their states`(answer: String, grades: [String]) {
    let findings = UnitStates(answer).findings(command: "systemctl --user")
    #expect(findings.map(\.grade.rawValue) == grades)
    for finding in findings where finding.grade == .problem {
      #expect(finding.remedy?.contains("systemctl --user") == true)
    }
  }

  @Test(
    arguments: [
      ("Limit\nMax open files            1024                 524288               files\n", 1024),
      ("Max open files            unlimited            unlimited            files\n", nil),
      ("Max file locks  7 7 locks\n", nil),
    ] as [(String, Int?)])
  func `the limit of open files is read from the kernel's table`(table: String, count: Int?) {
    #expect(OpenFileLimit(table)?.count == count)
  }

  @Test func `a finding is a line, or an object with what to do`() {
    let finding = Finding.problem("disk", "\u{1b}[2J is full", remedy: "make room")
    let plain = Palette(.never, isTerminal: true, environment: [:])
    #expect(
      finding.lines(plain)
        == #"problem  disk          \x1b[2J is full"# + "\n"
        + #"                       → make room"#)
    #expect(
      finding.json
        == #"{"check":"disk","grade":"problem","text":"\\x1b[2J is full","remedy":"make room"}"#)
    let coloured = Palette(.always, isTerminal: false, environment: [:])
    #expect(finding.lines(coloured).hasPrefix("\u{1b}[31mproblem "))
  }

  @Test(
    arguments: [
      (["Proxy": "none"], [:], ["ok"]), (["Proxy": "http://p:1"], [:], ["ok"]),
      (["Proxy": "none"], ["https_proxy": "http://u:secret@p"], ["note"]),
      (["CAFile": "/nonexistent"], [:], ["problem"]), (["CAFile": "/dev/null"], [:], ["ok"]),
    ] as [([String: String], [String: String], [String])])
  func `the way to origins is judged`(
    network: [String: String], environment: [String: String], grades: [String]
  ) throws {
    let fields = network.map { #""\#($0.key)":"\#($0.value)""# }.joined(separator: ",")
    let line = Array(#"{"config":{"Network":{\#(fields)}}}"#.utf8)
    let reply = try Reply(line, from: "here")
    let answers = Interview.Answers(hello: reply, stats: reply, config: reply)
    let findings = NetworkCheck(answers, environment: environment).findings
    #expect(findings.map(\.grade.rawValue) == grades)
    #expect(!findings.contains { $0.text.contains("secret") })
  }
}
