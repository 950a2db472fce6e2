import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct TransferThreadsTests {
  private let first: OriginServer
  private let second: OriginServer
  private let third: OriginServer

  init() throws {
    first = try OriginServer()
    second = try OriginServer()
    third = try OriginServer()
    for origin in [first, second, third] { origin.plan("/a", .body(sample(1_000))) }
  }

  /// Threads whose transfers can be waited for.
  private final class Stage {
    let threads: TransferThreads
    private let events = Shared<[TransferEvent]>([])
    private var serial: UInt64 = 0

    init(_ count: Int) throws {
      threads = try TransferThreads(count: count, settings: .forTests) { [events] event in
        events.with { $0.append(event) }
      }
    }

    deinit { threads.stop() }

    func begin(_ url: String) -> UInt64 {
      serial += 1
      threads.begin(TransferOrder(serial: serial, url: url, maxBytes: 1 << 20, deadline: .seconds(60)))
      return serial
    }

    func outcome(of serial: UInt64) throws -> TransferOutcome {
      try #require(events.wait { $0.lazy.compactMap { $0.outcome(of: serial) }.first })
    }

    func fetch(_ url: String) throws {
      guard case .received = try outcome(of: begin(url)) else { throw TestFailure("\(url) is not received") }
    }

    func failure(of serial: UInt64) throws -> TransferFailure.Kind {
      guard case .failed(let failure) = try outcome(of: serial) else { throw TestFailure("not failed") }
      return failure.kind
    }
  }

  @Test func `an origin keeps its thread, and its connection`() throws {
    let stage = try Stage(4)
    #expect(stage.threads.count == 1)
    for _ in 0..<3 { for origin in [first, second, third] { try stage.fetch(origin.url("/a")) } }
    #expect(stage.threads.count == 3)
    #expect(stage.threads.holdings.opened == 3)
    #expect(stage.threads.holdings.reused == 6)
    #expect(stage.threads.holdings.connections == 3)
  }

  @Test func `there are no more threads than are set`() throws {
    for most in 1...2 {
      let stage = try Stage(most)
      for origin in [first, second, third] { try stage.fetch(origin.url("/a")) }
      #expect(stage.threads.count == most)
    }
  }

  @Test func `an origin gets the thread that is least busy`() throws {
    let gate = Gate()
    for origin in [first, third] { origin.plan("/held", .held(at: gate, then: .body(sample(1_000)))) }
    let stage = try Stage(2)
    let held = (0..<3).map { _ in stage.begin(first.url("/held")) }
    try stage.fetch(second.url("/a"))
    #expect(stage.threads.loads == [3, 0])
    let last = stage.begin(third.url("/held"))
    #expect(stage.threads.loads == [3, 1])
    gate.open()
    for serial in held + [last] { _ = try stage.outcome(of: serial) }
    #expect(stage.threads.loads == [0, 0])
  }

  @Test func `orders reach the thread of their transfer`() throws {
    let gate = Gate()
    for origin in [first, second] { origin.plan("/held", .held(at: gate, then: .body(sample(1_000)))) }
    let stage = try Stage(2)
    let narrowed = [first, second].map { stage.begin($0.url("/held")) }
    let aborted = [first, second].map { stage.begin($0.url("/held")) }
    for serial in narrowed { stage.threads.adjust(serial: serial, maxBytes: 10, deadline: .seconds(60)) }
    for serial in aborted { stage.threads.abort(serial: serial) }
    // A thread looks at its sockets before its orders.
    let haveArrived = Shared(false)
    stage.threads.askForLife { haveArrived.with { $0 = true } }
    try #require(haveArrived.wait { $0 ? true : nil } == true)
    gate.open()
    for serial in narrowed { #expect(try stage.failure(of: serial) == .tooLarge) }
    #expect(stage.threads.loads == [0, 0])
    stage.threads.apply(.with { $0.addressRule = AddressRule(mode: .deny) })
    // The third origin's thread began before, or begins now.
    for origin in [first, second, third] {
      #expect(try stage.failure(of: stage.begin(origin.url("/a"))) == .blockedAddress)
    }
  }

  @Test func `all threads are asked for life`() throws {
    let stage = try Stage(3)
    for origin in [first, second, third] { try stage.fetch(origin.url("/a")) }
    let answers = Shared(0)
    let mayGoOn = Shared(false)
    let last = try #require(stage.threads.running.last)
    last.askForLife { _ = mayGoOn.wait { $0 ? true : nil } }
    stage.threads.askForLife { answers.with { $0 += 1 } }
    #expect(answers.with { $0 } == 0)
    mayGoOn.with { $0 = true }
    #expect(answers.wait { $0 == 1 ? true : nil } == true)
  }
}
