import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// How the service ends, and what its clients keep.
@Suite(.machine) struct StopTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage()
    try machine.perform("systemctl start imgd.socket imgd.service")
  }

  @Test func `downloads that end in time are delivered, and the others refused after ten seconds`()
    throws
  {
    let gate = Gate()
    stage.origin.plan("/held", .held(at: gate, then: .picture(png())))
    stage.origin.plan("/hangs", .silence)
    let client = try stage.connect()
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/held"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/hangs"}"#, on: client)
    #expect(gate.waitUntilReached())
    let start = ContinuousClock.now
    let stop = try machine.begin("systemctl stop imgd.service")
    try machine.waitUntil(is: "deactivating")
    try stage.play(
      #"""
      > {"cmd":"fetch","id":3,"url":"ORIGIN/new"}
      < {"id":3,"ok":false,"error":{"code":"shutting_down"}}
      """#, on: client)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true,"source":"network"}"#, on: client)
    try stage.play(#"< {"id":2,"ok":false,"error":{"code":"shutting_down"}}"#, on: client)
    #expect(ChildProcess.wait(stop) == 0)
    // Longer is what systemd would wait for.
    #expect(ContinuousClock.now - start < .seconds(25))
    #expect(try machine.property("Result") == "success")
    expectClosedIndex()
  }

  /// What was written beside the index is in it.
  private func expectClosedIndex() {
    let index = machine.path("/var/cache/imgd/1/index.db")
    #expect(access(index, F_OK) == 0)
    #expect(access(index + "-wal", F_OK) != 0)
  }

  @Test func `a second signal ends it at once, and in good order`() throws {
    stage.origin.plan("/hangs", .silence)
    let client = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/hangs"}"#, on: client)
    let process = try machine.process()
    let start = ContinuousClock.now
    kill(process, SIGTERM)
    try machine.waitUntil(is: "deactivating")
    kill(process, SIGTERM)
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"shutting_down"}}"#, on: client)
    #expect(ContinuousClock.now - start < .seconds(10), "so long it would be given otherwise")
    try machine.waitUntil(is: "inactive")
    #expect(try machine.property("Result") == "success")
    expectClosedIndex()
  }

  /// After the second signal, or else after ten seconds.
  @Test(arguments: [1, 2])
  func `clients that wait for a disk that does not answer get a last line`(
    signals: Int
  ) throws {
    let client = try stage.connect()
    let process = try machine.process()
    let holds = try ["imgd-reader", "imgd-disk"].map { try ThreadHold($0, of: process) }
    try stage.begin(
      #"{"cmd":"entries","id":1,"tier":"disk"}"#, #"{"cmd":"purge","id":2,"tier":"disk"}"#,
      on: client)
    for _ in 0..<signals {
      kill(process, SIGTERM)
      try machine.waitUntil(is: "deactivating")
    }
    try stage.play(
      #"""
      < {"id":1,"ok":false,"error":{"code":"shutting_down"}}
      < {"id":2,"ok":false,"error":{"code":"shutting_down"}}
      """#, on: client)
    for hold in holds { hold.letGo() }
    try machine.waitUntil(is: "inactive")
    #expect(try machine.property("Result") == "success")
    expectClosedIndex()
  }

  @Test func `clients that come back after restarts lose no picture that was stored`() throws {
    let pictures = 60
    for number in 0..<pictures { stage.origin.plan("/\(number)", .picture(png())) }
    let answered = Shared(Set<Int>())
    let isOver = Shared(false)
    let stage = self.stage
    let threads = try (0..<4).map { first in
      try Thread(name: "restart-client") {
        var number = first
        while !isOver.with({ $0 }) {
          guard (try? stage.fetch("/\(number)")) != nil else { continue }
          answered.with { _ = $0.insert(number) }
          number = (number + 7) % pictures
        }
      }
    }
    for round in 1...4 {
      #expect(answered.wait { $0.count >= min(round * 12, pictures) ? true : nil } != nil)
      try machine.perform("systemctl restart imgd.service")
    }
    isOver.with { $0 = true }
    for thread in threads { thread.join() }
    for number in answered.with({ $0 }) {
      let asked = stage.origin.count("/\(number)")
      #expect(try stage.fetch("/\(number)")["path"]?.string != nil)
      #expect(stage.origin.count("/\(number)") == asked, "picture \(number) was lost")
    }
    #expect(try machine.property("NRestarts") == "0")
    let complaints = try machine.journal("--unit=imgd.service --priority=warning")
    #expect(complaints.isEmpty, "\(complaints)")
  }
}
