import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// What a daemon keeps in memory, and how busy it is, while it is mistreated.
@Suite(.serialized, .slow) struct UsageSoakTests {
  @Test func `a thousand connections leave nothing in memory`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    for _ in 0..<100 { try RawClient(daemon).vanish() }
    #expect(try witness.seesNothingLeft())
    let memory = daemon.residentBytes
    for round in 0..<1_000 {
      let client = try RawClient(daemon)
      if round.isMultiple(of: 2) { client.say(#"{"cmd":"ping"}"#) }
      client.vanish()
    }
    #expect(try witness.seesNothingLeft())
    #expect(daemon.residentBytes - memory < 2 << 20)
  }

  @Test func `an endless body does not fill the memory`() throws {
    let origin = try OriginServer()
    origin.plan("/endless", .endless())
    let daemon = try DaemonProcess(settings: ["Downloads.Retries=0"])
    let witness = try Witness(daemon)
    let before = daemon.residentBytes
    for _ in 0..<3 {
      let answer = try witness.ask(
        #"{"cmd":"fetch","url":"\#(origin.url("/endless"))","max_bytes":10000000}"#)
      #expect(answer.failureCode == "too_large")
    }
    #expect(try witness.waits(for: "downloads", "active", toBe: 0))
    #expect(daemon.residentBytes - before < 8 << 20)
  }

  @Test func `it does not turn for want of descriptors`() throws {
    let daemon = try DaemonProcess()
    let witness = try Witness(daemon)
    // The daemon raises its soft limit at its start, so it is lowered afterwards.
    let limit = ["--pid", "\(daemon.pid)", "--nofile=60:60"]
    #expect(try ChildProcess.run("/usr/bin/prlimit", limit).code == 0)
    let clients = try (0..<100).map { _ in try RawClient(daemon) }
    #expect(try becomes { try witness.count("clients", "rejected") > 40 })
    let ticks = daemon.processorTicks
    #expect(try witness.isAnsweredSoon())
    poll(nil, 0, 300)  // what is measured is that nothing happens
    #expect(daemon.processorTicks - ticks < 15)
    for client in clients { client.vanish() }
  }
}
