import ImgdConnection
import Testing

@testable import ImgctlCommands

struct DoctorTests {
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

  @Test func `a daemon that was started by hand is no problem`() {
    let states = UnitStates(Self.show(socket: "inactive", file: "disabled", service: "inactive"))
    let findings = states.findings(command: "systemctl --user", hasAnswered: true)
    #expect(findings.map(\.grade) == [.note])
    #expect(findings[0].text.contains("started by hand"))
  }

  @Test(arguments: [(true, "sudo systemctl enable --now imgd.socket"), (false, "imgd, as root")])
  func `advice about systemd is for machines that run it`(
    hasManager: Bool, command: String
  ) throws {
    let context = Context(
      console: .standard, socket: "/run/imgd/imgd.sock", manner: try Manner([]), environment: [:])
    let place = SocketPlace(context, hasManager: hasManager)
    #expect(place.startCommand == command)
    #expect(place.logCommand.isEmpty == !hasManager && place.restartCommand.isEmpty == !hasManager)
  }

  private static func gateway(socket: String, file: String, service: String) -> UnitStates {
    UnitStates(
      """
      Id=imgd-http.socket
      LoadState=\(socket == "none" ? "not-found" : "loaded")
      ActiveState=\(socket)
      UnitFileState=\(file)
      Listen=/run/imgd/http.sock (Stream)

      Id=imgd-http.service
      LoadState=loaded
      ActiveState=\(service)
      UnitFileState=disabled

      """)
  }

  @Test(
    arguments: [
      (gateway(socket: "none", file: "", service: "inactive"), nil, nil),
      (gateway(socket: "inactive", file: "disabled", service: "inactive"), nil, nil),
      (gateway(socket: "inactive", file: "enabled", service: "inactive"), nil, "problem"),
      (gateway(socket: "active", file: "enabled", service: "inactive"), .status(500), "ok"),
      (gateway(socket: "active", file: "enabled", service: "failed"), nil, "problem"),
      (gateway(socket: "inactive", file: "disabled", service: "failed"), nil, "problem"),
      (gateway(socket: "active", file: "disabled", service: "active"), .status(200), "ok"),
      (gateway(socket: "active", file: "disabled", service: "active"), .status(503), "problem"),
      (gateway(socket: "active", file: "disabled", service: "active"), .silence, "problem"),
      // A user who may not connect.
      (gateway(socket: "active", file: "disabled", service: "active"), nil, "ok"),
    ] as [(UnitStates, GatewayAnswer?, String?)])
  func `the gateway is judged where it is used`(
    units: UnitStates, answer: GatewayAnswer?, grade: String?
  ) {
    let finding = GatewayCheck(units).finding(
      command: "sudo systemctl", lastError: { _ in ": KeyFile=/k cannot be read" },
      answer: { path in
        #expect(path == "/run/imgd/http.sock")
        return answer
      })
    #expect(finding?.grade.rawValue == grade)
    if let finding, finding.text.contains("failed") {
      #expect(finding.text == "imgd-http.service has failed: KeyFile=/k cannot be read")
      #expect(finding.remedy?.hasPrefix("imgd-http --check-config") == true)
    }
  }

  @Test(
    arguments: [
      ("HTTP/1.1 200 OK\r\n", 200), ("HTTP/1.1 503 ", 503), ("HTTP/1.1 2", 2), ("", nil),
      ("SSH-2.0 200", nil), ("HTTP/1.1", nil), ("HTTP/1.1 two hundred", nil),
    ] as [(String, Int?)])
  func `the status of the gateway's answer is read`(text: String, status: Int?) {
    #expect(GatewayAnswer.status(in: Array(text.utf8)) == status)
  }

  @Test(
    arguments: [
      (0, "the configuration is good\n", false, "ok", "good, as imgd --check-config reads it"),
      (78, "imgd: error: /c:3: a\nimgd: error: /c:4: b\n", false, "problem", "/c:3: a\n/c:4: b"),
      (
        78, "imgd: error: open /c: Permission denied\n", false, "note", "open /c: Permission denied"
      ),
      (
        78, "imgd: error: open /c: Permission denied\n", true, "problem",
        "open /c: Permission denied"
      ),
      (127, "", true, nil, nil),
    ] as [(CInt, String, Bool, String?, String?)])
  func `each mistake of the configuration is a line`(
    code: CInt, said: String, isRoot: Bool, grade: String?, text: String?
  ) {
    let finding = ConfigurationCheck.finding(code, said, of: "imgd", isRoot: isRoot)
    #expect(finding?.grade.rawValue == grade)
    #expect(finding?.text == text)
    let plain = Palette(.never, isTerminal: true, environment: [:])
    if let finding, said.contains("/c:4") {
      #expect(
        finding.lines(plain).hasPrefix(
          "problem  configuration /c:3: a\n                       /c:4: b\n                       → "
        ))
      #expect(finding.remedy?.contains("imgd --check-config") == true)
    }
  }

  @Test(
    arguments: [
      (
        #"{"state":"off"}"#, "note", "off: pictures have no files, and are lost at a stop",
        "Disk.Enabled=yes"
      ),
      (
        #"{"state":"down","reason":"mkdir /d: Read-only file system; a service: ReadWritePaths=, see imgd(8)"}"#,
        "problem", "mkdir /d: Read-only file system", "a service: ReadWritePaths=, see imgd(8)"
      ),
      (#"{"state":"down","reason":"/d is a link"}"#, "problem", "/d is a link", "see whether"),
      (
        #"{"state":"down","reason":"open /d/1: Too many open files"}"#, "problem",
        "open /d/1: Too many open files", "raise LimitNOFILE="
      ),
      (#"{"state":"read-only"}"#, "problem", "/d cannot be used", "see whether"),
    ] as [(String, String, String, String)])
  func `the disk is judged by its state`(
    disk: String, grade: String, text: String, remedy: String
  ) throws {
    let stats = try Reply(Array(#"{"disk":\#(disk)}"#.utf8), from: "here")
    let config = try Reply(
      Array(#"{"config":{"Disk":{"Directory":"/d"}}}"#.utf8), from: "here")
    let answers = Interview.Answers(hello: stats, stats: stats, config: config)
    let finding = try #require(DaemonCheck(answers).findings.first)
    #expect(finding.grade.rawValue == grade && finding.text == text)
    #expect(finding.remedy?.hasPrefix(remedy) == true)
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

  @Test func `a machine without a route is said to be offline`() throws {
    for (isOffline, grades) in [(true, ["note"]), (false, [])] {
      let stats = try Reply(Array(#"{"network":{"offline":\#(isOffline)}}"#.utf8), from: "here")
      let config = try Reply(Array(#"{"config":{"Network":{}}}"#.utf8), from: "here")
      let answers = Interview.Answers(hello: config, stats: stats, config: config)
      #expect(NetworkCheck(answers, environment: [:]).findings.map(\.grade.rawValue) == grades)
    }
  }
}
