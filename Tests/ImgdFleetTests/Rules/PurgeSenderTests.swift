import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// Purges of this host on their way into the log.
struct PurgeSenderTests {
  private let stage: DeskStage

  init() throws {
    stage = try DeskStage()
    try stage.waitForState(.ok)
  }

  private var server: PlannedServer { stage.server }

  private func send(_ nonce: UInt64, _ filter: PurgeFilter = PurgeFilter(), isSoft: Bool = false) {
    stage.order(.send(FleetPurge(filter, isSoft: isSoft, askedAt: 0, nonce: nonce)))
  }

  /// What is told of a purge and was not taken: nothing for one that was sent, or why it was not.
  private func reports(of nonce: UInt64) -> [String?] {
    stage.all.compactMap { event -> String?? in
      switch event {
      case .sent(nonce): .some(nil)
      case .unsent(nonce, let reason): reason
      default: nil
      }
    }
  }

  @Test(
    arguments: [
      (.number(1), nil), (.number(0), "the fleet's server was emptied"),
      (.nothing, "the fleet's server was emptied"), (.word("OK"), "the fleet's server was emptied"),
      (.list([.number(1)]), "the fleet's server was emptied"),
      (.failure("OOM x"), "the fleet's server has refused it: OOM x"),
      (.failure("ERR x"), "the fleet's server has refused it: ERR x"),
    ] as [(RedisReply, String?)])
  func `a purge is sent if the log has it, and is kept otherwise`(
    reply: RedisReply, wanted: String?
  ) {
    server.plan("purge", reply)
    send(4)
    #expect(reports(of: 4) == [wanted])
    #expect(!stage.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test(
    arguments: [("READONLY x", .readOnly), ("NOPERM x", .refused), ("LOADING x", .down)]
      as [(String, FleetState.Phase)])
  func `a purge that finds the server in another state is kept`(
    text: String, phase: FleetState.Phase
  ) throws {
    server.plan("purge", .failure(text))
    send(4)
    let state = try stage.waitForState(phase)
    send(5)
    #expect(reports(of: 4) == ["the fleet's server has refused it: \(text)"])
    #expect(reports(of: 5) == [state.reason])
    #expect(server.commands("purge").count == 1)
  }

  @Test func `a purge whose answer is lost with the connection is kept, and told of once`() throws {
    server.keepSilent("purge")
    send(4)
    stage.pass(.seconds(2))
    #expect(reports(of: 4) == [])
    try server.end(server.pictures)
    #expect(reports(of: 4) == ["the connection to the fleet's server has ended"])
    let down = try stage.waitForState(.down)
    send(5)
    #expect(reports(of: 5) == [down.reason])
    server.thaw()
    stage.pass(.seconds(5))
    #expect(reports(of: 4).count == 1 && server.commands("purge").count == 1)
  }

  @Test func `a purge before the first connection is kept`() throws {
    let unjoined = try DeskStage(join: .none)
    unjoined.order(.send(FleetPurge(PurgeFilter(), isSoft: false, askedAt: 0, nonce: 4)))
    let reason = try unjoined.next { event in
      if case .unsent(4, let reason) = event { reason } else { nil }
    }
    #expect(reason == "the fleet's server is not connected yet")
  }

  @Test func `no more than a thousand purges are on their way at a time`() throws {
    server.keepSilent("purge")
    for nonce in 1...1_025 as ClosedRange<UInt64> { send(nonce) }
    #expect(reports(of: 1_025) == ["1024 other purges are on their way"])
    try server.answer(.number(1), to: "purge")
    send(1_026)
    #expect(reports(of: 1_026) == [])
    server.thaw()
    #expect(reports(of: 1_024) == [nil] && reports(of: 1_026) == [nil])
  }

  @Test(
    arguments: [
      (false, nil, true), (true, nil, false), (false, "i", false),
    ] as [(Bool, String?, Bool)])
  func `a hard purge of all of a URL takes its plain picture with it, and any fetch of it`(
    isSoft: Bool, identifier: String?, wanted: Bool
  ) throws {
    let picture = TestedPicture()
    var filter = PurgeFilter()
    filter.url = try CanonicalURL.parse(picture.record.url)
    filter.identifier = identifier
    send(4, filter, isSoft: isSoft)
    let name = picture.digest.hex
    let meant = wanted ? ["imgd:p:\(name)", "imgd:r:\(name)"] : []
    #expect(
      server.commands("purge").map(\.keys) == [["imgd:generation", "imgd:purges"] + meant])
  }
}
