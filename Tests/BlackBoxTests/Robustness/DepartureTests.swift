import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Clients that come and go as they please: afterwards everything is as it was.
@Suite(.serialized) struct DepartureTests {
  @Test func `clients vanish in the middle of everything`() throws {
    let origin = try OriginServer()
    origin.plan("/hangs.png", .silence)
    origin.plan("/stalls.png", .stalls(TestPicture.png(bytes: 5_000), after: 2_000))
    origin.plan("/fine.png", .picture(TestPicture.png(bytes: 5_000)))
    let daemon = try DaemonProcess(settings: ["Downloads.MaxActive=16", "Downloads.MaxPerHost=16"])
    let witness = try Witness(daemon)
    _ = try witness.ask(#"{"cmd":"fetch","url":"\#(origin.url("/fine.png"))","deliver":"fd"}"#)
    let lines = [
      #"{"cmd":"fetch","url":"\#(origin.url("/hangs.png"))"}"#,
      #"{"cmd":"fetch","url":"\#(origin.url("/stalls.png"))","progress":true,"events":true}"#,
      #"{"cmd":"fetch","url":"\#(origin.url("/fine.png"))","deliver":"fd"}"#,
      #"{"cmd":"fetch","url":"\#(origin.url("/fine.png"))","deliver":"inline","cache":"reload"}"#,
      #"{"cmd":"fetch","url":"\#(origin.url("/hangs.png"))","slot":"s"}"#,
      #"{"cmd":"subscribe","events":["jobs","cache"]}"#,
      #"{"cmd":"fetch","url":"http://127"#,
      #"{"cmd":"cancel","all":true}"#,
      #"{"cmd":"config"}"#,
    ]
    let files = daemon.openFiles
    for round in 0..<40 {
      for index in lines.indices {
        let client = try RawClient(daemon)
        _ = client.push(Array((lines[index] + "\n").utf8)[...])
        if round % 3 == 1 { client.halfClose() }
        if round % 4 == 2 { _ = client.push(Array((lines[round % lines.count] + "\n").utf8)[...]) }
        client.vanish()
      }
    }
    #expect(try witness.seesNothingLeft())
    #expect(origin.waitForOpenConnections(16))
    #expect(try becomes { daemon.openFiles <= files + 16 }, "idle connections are kept")
    #expect(try witness.ask(#"{"cmd":"list"}"#).jobCount == 0)
  }

  @Test func `a thousand connections leave nothing`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    for _ in 0..<100 { try RawClient(daemon).vanish() }
    #expect(try witness.seesNothingLeft())
    let files = daemon.openFiles
    for round in 0..<1_000 {
      let client = try RawClient(daemon)
      if round.isMultiple(of: 2) { client.say(#"{"cmd":"ping"}"#) }
      client.vanish()
    }
    #expect(try witness.seesNothingLeft())
    // A client that has gone may still be in line for a turn, which only lets go of it.
    #expect(try becomes { daemon.openFiles == files })
    #expect(try witness.count("clients", "accepted") >= 1_101)
  }

  @Test func `many clients at once leave nothing`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let files = daemon.openFiles
    for _ in 0..<3 {
      let clients = try (0..<300).map { _ in try RawClient(daemon) }
      for client in clients { client.say(#"{"cmd":"ping"}"#) }
      for client in clients { #expect(client.take() != nil) }
      for client in clients { client.vanish() }
      #expect(try witness.seesNothingLeft())
    }
    // A client that has gone may still be in line for a turn, which only lets go of it.
    #expect(try becomes { daemon.openFiles == files })
  }
}
