import ImgdCache
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon
@testable import ImgdFleet

/// What a host says about itself, and the command `fleet`.
struct FleetHostsTests {
  private func report(_ hosts: [(name: String, note: HostNote)], own: String = "5", last: UInt64 = 0) -> FleetEvent {
    let listed = hosts.map {
      ListedHost(name: $0.name, number: UInt64($0.name, radix: 16) ?? 0, age: .milliseconds(1_500), line: $0.note)
    }
    return .hosts(.success(HostList.Report(own: own, last: last, hosts: listed)))
  }

  private func note(_ machine: String, position: UInt64 = 0) -> HostNote {
    var note = HostNote()
    (note.machine, note.version, note.layout, note.position) = (machine, "9", 3, position)
    note.settings = [.init("Fleet.MaxObject", "4M")]
    return note
  }

  /// Has a client ask, and the server answer.
  private func ask(_ scene: FleetScene, _ event: FleetEvent, _ fields: String = "") throws -> JSONValue {
    try scene.stage.client.send(#"{"cmd":"fleet"\#(fields)}"#)
    scene.stage.settle()
    scene.tell(event)
    return try scene.stage.client.receive()
  }

  // MARK: This host

  @Test func `a host writes when the fleet can be used, and every ten seconds from then on`() throws {
    let scene = try FleetScene("Fleet.MaxObject=2M", "Downloads.AcceptTypes=png gif")
    #expect(scene.fleet.lines.count == 1)
    let line = try #require(scene.fleet.lines.last)
    #expect(!line.machine.isEmpty && line.version == Release.version && line.layout >= 1)
    #expect(line.settings.contains(.init("Fleet.MaxObject", "2M")))
    #expect(line.settings.contains(.init("Downloads.AcceptTypes", "png gif")))
    #expect(line.settings.count == 8)
    scene.stage.pass(.seconds(9))
    #expect(scene.fleet.lines.count == 1)
    scene.stage.pass(.seconds(21))
    #expect(scene.fleet.lines.count == 4)
  }

  @Test(arguments: [FleetState.Phase.down, .refused, .readOnly, .connecting])
  func `it writes nothing while nothing can be written`(phase: FleetState.Phase) throws {
    let scene = try FleetScene()
    scene.tell(.state(FleetState(phase)))
    scene.stage.pass(.seconds(60))
    #expect(scene.fleet.lines.count == 1)
    scene.tell(.state(FleetState(.ok)))
    #expect(scene.fleet.lines.count == 2)
  }

  @Test func `it tells the last purge that is in force, and settings as they are`() throws {
    let scene = try FleetScene()
    for number in 1...3 { scene.fleet.tellPurge(UInt64(number), PurgeFilter()) }
    try scene.stage.apply("Fleet.MaxObject=3M")
    scene.stage.pass(.seconds(10))
    #expect(scene.fleet.lines.last?.position == 3 && scene.fleet.lines.last?.waiting == 0)
    #expect(scene.fleet.lines.last?.settings.contains(.init("Fleet.MaxObject", "3M")) == true)
  }

  // MARK: The command

  @Test func `all hosts are told, and this one as it is now`() throws {
    let scene = try FleetScene()
    let answer = try ask(
      scene, report([("7", note("web7", position: 2)), ("5", note("old")), ("1", note("web1"))], last: 9))
    let hosts = try #require(answer["hosts"]?.array)
    #expect(hosts.map { $0["name"]?.string } == ["1", "5", "7"])
    #expect(hosts.map { $0["self"]?.bool } == [nil, true, nil])
    #expect(hosts[1]["version"]?.string == Release.version && hosts[1]["age_ms"] == 0)
    #expect(hosts[2]["host"] == "web7" && hosts[2]["position"] == 2 && hosts[2]["lag"] == 7)
    #expect(hosts[2]["age_ms"] == 1_500 && hosts[2]["layout"] == 3 && hosts[2]["away"] == nil)
    #expect(hosts[2]["limits"]?["Fleet.MaxObject"] == "4M")
    #expect(answer["last"] == 9 && answer["state"] == "ok" && answer["server"] == "planned:6379")
    #expect(answer["cursor"] == .null && answer["problem"] == nil)
  }

  @Test func `a host that was silent for a minute is away`() throws {
    let scene = try FleetScene()
    let silent = ListedHost(name: "7", number: 7, age: .seconds(61), line: note("web7"))
    let answer = try ask(scene, .hosts(.success(HostList.Report(own: "5", last: 0, hosts: [silent]))))
    #expect(answer["hosts"]?.array?.map { $0["away"]?.bool } == [nil, true])
  }

  @Test func `one question serves all who ask at once, and its answer those of the next second`() throws {
    let scene = try FleetScene()
    let clients = try (0..<20).map { _ in try scene.stage.connect() }
    for client in clients { try scene.stage.begin(#"{"cmd":"fleet"}"#, on: client) }
    #expect(scene.fleet.questions == 1)
    scene.tell(report([("1", note("web1"))]))
    for client in clients { #expect(try client.receive()["hosts"]?.array?.count == 2) }
    #expect(try scene.stage.client.ask(#"{"cmd":"fleet"}"#)["hosts"]?.array?.count == 2)
    #expect(scene.fleet.questions == 1)
    scene.stage.pass(.seconds(1))
    _ = try ask(scene, report([]))
    #expect(scene.fleet.questions == 2)
  }

  @Test func `a server that is silent costs its timeout, and this host is told`() throws {
    let scene = try FleetScene()
    try scene.stage.client.send(#"{"cmd":"fleet"}"#)
    scene.stage.jump(.milliseconds(50))
    let answer = try scene.stage.client.receive()
    #expect(answer["hosts"]?.array?.count == 1 && answer["hosts"]?.array?.first?["self"]?.bool == true)
    #expect(answer["problem"]?.string?.contains("Fleet.Timeout") == true)
  }

  @Test func `why there are no others, or this one is not listed, is told`() throws {
    let scene = try FleetScene()
    let failed = try ask(scene, .hosts(.failure(HostList.Problem(reason: "no rights"))))
    #expect(failed["problem"] == "no rights" && failed["hosts"]?.array?.count == 1)
    scene.tell(.unlisted(reason: "may not write"))
    scene.stage.pass(.seconds(1))
    #expect(try ask(scene, report([]))["problem"] == "may not write")
    scene.tell(.unlisted(reason: nil))
    scene.stage.pass(.seconds(1))
    #expect(try ask(scene, report([]))["problem"] == nil)
  }

  @Test func `hosts come in pages, each once`() throws {
    let scene = try FleetScene()
    let names = (1...40).map { String($0, radix: 16) }
    let event = report(names.map { ($0, note("web" + $0)) })
    var (seen, cursor): ([String], String?) = ([], nil)
    repeat {
      let after = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let page = try ask(scene, event, #","limit":7\#(after)"#)
      seen += page["hosts"]?.array?.compactMap { $0["name"]?.string } ?? []
      cursor = page["cursor"]?.string
    } while cursor != nil
    #expect(seen == names)
    #expect(try scene.stage.client.ask(#"{"cmd":"fleet","cursor":"x"}"#)["error"]?["code"] == "bad_request")
  }

  @Test func `a client with many questions waits with its next one`() throws {
    let scene = try FleetScene()
    for _ in 0..<50 { try scene.stage.client.send(#"{"cmd":"fleet"}"#) }
    scene.stage.settle()
    #expect(scene.stage.core.parts.commands.count < 10)
    scene.tell(report([]))
    for _ in 0..<50 { #expect(try scene.stage.client.receive()["ok"] == true) }
  }

  @Test func `a machine alone says so`() throws {
    let stage = try CoreStage()
    let answer = try stage.client.ask(#"{"cmd":"fleet"}"#)
    #expect(answer["hosts"]?.array?.isEmpty == true && answer["state"] == "off")
  }

  @Test func `only who sees everything is told of other hosts`() throws {
    let scene = try FleetScene()
    let user = try scene.stage.connect(as: 4_711)
    #expect(try user.ask(#"{"cmd":"fleet"}"#)["error"]?["code"] == "forbidden")
    try scene.stage.apply("Control.See=all")
    try user.send(#"{"cmd":"fleet"}"#)
    scene.stage.settle()
    scene.tell(report([]))
    #expect(try user.receive()["hosts"]?.array?.count == 1)
  }

  @Test func `who leaves before the answer costs nobody anything`() throws {
    let scene = try FleetScene()
    do {
      let other = try scene.stage.connect()
      try scene.stage.begin(#"{"cmd":"fleet"}"#, on: other)
    }
    scene.stage.settle()
    #expect(try ask(scene, report([]))["ok"] == true)
  }
}
