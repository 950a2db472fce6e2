import ImgdConnection
import Testing

@testable import ImgctlCommands

/// `imgctl fleet`, and what the doctor says about hosts.
struct HostsTests {
  private static let own = row("web2", #""self":true,"age_ms":0"#)

  private static func row(
    _ host: String, _ further: String = #""age_ms":4000"#, version: String = "1", layout: Int = 1, waiting: Int = 0,
    most: String = "1M"
  ) -> String {
    #"{"host":"\#(host)","name":"a1",\#(further),"version":"\#(version)","layout":\#(layout),"position":90,"lag":3,"#
      + #""waiting":\#(waiting),"pending":2,"limits":{"Fleet.MaxObject":"\#(most)","Network.Private":"deny"}}"#
  }

  private static func answer(_ rows: [String], _ further: String = "", cursor: String = "null") -> String {
    #"{"ok":true,"hosts":[\#(rows.joined(separator: ","))],"cursor":\#(cursor),"last":93,"state":"ok"\#(further)}"#
  }

  private static func findings(
    _ fleet: String = "", hosts: [String] = [], _ further: String = ""
  ) throws -> [Finding] {
    let reply = { (text: String) throws in try Reply(Array(text.utf8), from: "here") }
    let config = try reply(#"{"config":{"Fleet":{"Server":"cache:6380"}}}"#)
    let stats = try reply(#"{"fleet":{"state":"ok","server":"cache:6380"\#(fleet)}}"#)
    var answers = Interview.Answers(hello: config, stats: stats, config: config)
    answers.hosts = [try reply(answer(hosts, further))]
    return Array(FleetCheck(answers).findings.dropFirst())
  }

  // MARK: imgctl fleet

  @Test func `this host stands first, and the others by their names with what differs`() throws {
    let rows = [
      Self.row("web9", version: "2", layout: 2), Self.row("web3", most: "4M"), Self.row("web1", waiting: 500),
      Self.row("web5", #""age_ms":180000,"away":true"#), Self.row("web4"),
    ]
    let daemon = try ScriptedDaemon { request in
      guard request == #"{"cmd":"fleet"}"# else {
        #expect(request == #"{"cmd":"fleet","cursor":"5"}"#)
        return [.line(Self.answer([Self.own]))]
      }
      return [.line(Self.answer(rows, cursor: "\"5\""))]
    }
    let lines = imgctl(["fleet"], daemon).output.split(separator: "\n").map { line in
      line.split(separator: " ").joined(separator: " ")
    }
    #expect(
      lines == [
        "HOST VERSION POSITION LAG PENDING HEARD REMARKS", "web2 1 90 3 2 now this host",
        "web1 1 90 3 2 4s carries out 500 purges", "web3 1 90 3 2 4s Fleet.MaxObject=4M", "web4 1 90 3 2 4s",
        "web5 1 90 3 2 3min away", "web9 2 90 3 2 4s another version; layout 2 of values",
      ])
  }

  @Test func `as JSON it is what the daemon answers`() throws {
    let line = Self.answer([Self.own])
    let daemon = try ScriptedDaemon { _ in [.line(line)] }
    #expect(imgctl(["fleet", "--json"], daemon).output == line + "\n")
  }

  @Test func `a machine alone has no table`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true,"hosts":[],"cursor":null,"state":"off"}"#)] }
    let run = imgctl(["fleet"], daemon)
    #expect(run.output == "" && run.exitCode == .done)
    #expect(run.messages.contains("Fleet.Server is not set"))
  }

  @Test func `why others are missing stands beside the table, and names do no harm`() throws {
    let line = Self.answer([Self.row("\\u001b[31m", #""self":true"#)], #","problem":"no rights\u001b""#)
    let run = imgctl(["fleet"], try ScriptedDaemon { _ in [.line(line)] })
    #expect(run.messages.contains(#"no rights\x1b"#))
    #expect(!run.output.contains("\u{1b}"))
  }

  // MARK: The doctor

  @Test(arguments: [
    (#","maxmemory":0"#, ["no limit of its memory"]), (#","maxmemory":1"#, []), ("", []),
    (#","clock_ahead_s":6"#, ["6 s ahead of"]), (#","clock_ahead_s":-6"#, ["6 s behind"]), (#","clock_ahead_s":5"#, []),
  ])
  func `settings of the server that cause trouble one day are told`(fields: String, texts: [String]) throws {
    let findings = try Self.findings(fields)
    #expect(findings.count == texts.count)
    for (finding, text) in zip(findings, texts) {
      #expect(finding.grade == .note && finding.text.contains(text) && finding.remedy != nil)
    }
  }

  @Test func `hosts that are like this one are not told of`() throws {
    #expect(try Self.findings(hosts: [Self.own, Self.row("web1")]) == [])
  }

  @Test(arguments: [
    (row("web1", most: "4M"), "differs from this host: Fleet.MaxObject=4M"),
    (row("web1", version: "2"), "another version"), (row("web1", layout: 2), "layout 2"),
    (row("web1", waiting: 100), "100 purges to carry out"),
    (row("web1", #""age_ms":180000,"away":true"#), "not been heard of for 3min"),
  ])
  func `hosts that differ, lag or are away are told of, with a remedy`(row: String, text: String) throws {
    let findings = try Self.findings(hosts: [Self.own, row])
    #expect(findings.count == 1)
    #expect(findings.first?.text.contains(text) == true, "\(findings)")
    #expect(findings.first?.grade == .note && findings.first?.remedy != nil)
  }

  @Test func `a list that may not be read is told`() throws {
    let findings = try Self.findings(hosts: [Self.own], #","problem":"give it +hset""#)
    #expect(findings.map(\.grade) == [.note] && findings[0].text.contains("give it +hset"))
  }
}
