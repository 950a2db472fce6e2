import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// What one client, and all of them together, may take.
@Suite(.serialized) struct DescriptorLimitTests {
  @Test func `one client too many is told so and closed`() throws {
    let daemon = try DaemonProcess(settings: ["Control.MaxClients=3"])
    let witness = try Witness(daemon)
    #expect(try witness.waits(for: "clients", "connected", toBe: 1))
    let inside = try (0..<2).map { _ in try daemon.connect() }
    for client in inside { _ = try client.ask(#"{"cmd":"ping"}"#) }
    for _ in 0..<5 {
      let outside = try daemon.connect()
      let refusal = try outside.receive()
      #expect(refusal.failureCode == "too_many_requests")
      #expect(refusal["error"]?["retryable"]?.bool == true)
      #expect(try outside.isClosedByDaemon())
    }
    for client in inside { #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true) }
    #expect(try witness.count("clients", "rejected") == 5)
    #expect(try witness.count("clients", "connected") == 3)
  }

  /// The kernel's table grows while a client is accepted, and then everybody waits.
  @Test(arguments: [1_024, 5_000]) func `there is room for all clients from the start`(clients: Int) throws {
    let daemon = try DaemonProcess(settings: ["Control.MaxClients=\(clients)"])
    let status = try #require(read("/proc/\(daemon.pid)/status"))
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("FDSize:") })
    #expect(try #require(Int(line.filter(\.isNumber))) >= 2 * clients)
  }

  @Test func `descriptors of clients are closed`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    let client = try RawClient(daemon)
    client.say(#"{"cmd":"ping"}"#)
    _ = client.take()
    let files = daemon.openFiles
    for count in [1, 2, 100, 250] {
      client.say(#"{"cmd":"ping"}"#, with: [CInt](repeating: 0, count: count))
      #expect(lineCount(try #require(client.take())) == 1)
      #expect(try becomes { daemon.openFiles == files })
    }
    #expect(try witness.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
  }

  @Test func `pictures do not take the last descriptors`() throws {
    let origin = try OriginServer()
    defer { origin.stop() }
    let daemon = try DaemonProcess()
    // The daemon raises its soft limit at its start, so it is lowered afterwards.
    let limit = ["--pid", "\(daemon.pid)", "--nofile=120:120"]
    #expect(try ChildProcess.run("/usr/bin/prlimit", limit).code == 0)
    let client = try daemon.connect()
    for number in 0..<200 {
      origin.plan("/\(number)", .picture(png(20_000)))
      let url = origin.url("/\(number)")
      for delivery in ["none", "fd"] {
        let line = try client.ask(#"{"cmd":"fetch","url":"\#(url)","deliver":"\#(delivery)"}"#)
        #expect(line["ok"]?.bool == true, "\(number): \(line.text)")
      }
    }
    let stats = try client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["memory"]?["entries"]?.integer == 200)
    // What is still on its way to the disk has descriptors for a moment.
    let witness = try Witness(daemon)
    #expect(try becomes { try (1..<100).contains(witness.count("process", "open_fds")) })
    #expect(try client.ask(#"{"cmd":"reload"}"#)["ok"]?.bool == true)
    let others = try (0..<15).map { _ in try daemon.connect() }
    for other in others { #expect(try other.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true) }
  }

  @Test func `pixels do not take the last descriptors`() throws {
    let origin = try OriginServer()
    defer { origin.stop() }
    origin.plan("/a.png", .picture(TestPicture.png(width: 64, height: 64)))
    let daemon = try DaemonProcess()
    let limit = ["--pid", "\(daemon.pid)", "--nofile=120:120"]
    #expect(try ChildProcess.run("/usr/bin/prlimit", limit).code == 0)
    let client = try daemon.connect()
    for height in 1...150 {
      let resize = #"{"width":1,"height":\#(height),"fit":"fill","enlarge":true}"#
      let line = try client.ask(
        #"{"cmd":"fetch","url":"\#(origin.url("/a.png"))","resize":\#(resize),"deliver":"pixels"}"#)
      #expect(line["ok"]?.bool == true, "\(height): \(line.text)")
    }
    // The clients' places are free, and a picture has its path.
    let others = try (0..<15).map { _ in try daemon.connect() }
    for other in others { #expect(try other.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true) }
    let line = try others[0].ask(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))"}"#)
    #expect(line["path"]?.string != nil, "\(line.text)")
  }

  @Test func `without descriptors it serves those who are inside`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    // The daemon raises its soft limit at its start, so it is lowered afterwards.
    let limit = ["--pid", "\(daemon.pid)", "--nofile=60:60"]
    #expect(try ChildProcess.run("/usr/bin/prlimit", limit).code == 0)
    var clients = try (0..<100).map { _ in try RawClient(daemon) }
    #expect(try becomes { try witness.count("clients", "rejected") > 40 })
    #expect(try witness.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
    let line = Array(try #require(clients[99].take()))
    let refusal = try JSONValue(parsing: line.span)
    #expect(refusal.failureCode == "too_many_requests")
    clients[0].say(#"{"cmd":"ping"}"#)
    #expect(lineCount(try #require(clients[0].take())) == 1)
    clients = []
    #expect(try witness.seesNothingLeft())
    #expect(try daemon.connect().ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
  }
}
