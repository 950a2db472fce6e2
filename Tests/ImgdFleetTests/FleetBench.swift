import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// One host of a fleet: gives orders to an engine and waits for its events.
final class FleetBench: Sendable {
  private struct State {
    var serial: UInt64 = 0
    var events: [FleetEvent] = []
  }

  let engine: FleetEngine
  private let state: Shared<State>

  /// With more time for a look-up than a busy machine takes, unless `change` says otherwise.
  init(
    _ server: FleetSettings.Server, join: FleetPosition?? = .some(nil),
    _ change: (inout FleetSettings) -> Void = { _ in }
  ) throws {
    let state = Shared(State())
    self.state = state
    var settings = FleetSettings(server: server, timeout: .seconds(20))
    change(&settings)
    engine = try FleetEngine.start(settings: settings) { event in
      state.with { $0.events.append(event) }
    }
    if let join { engine.join(from: join) }
  }

  /// A host that can use the server.
  convenience init(
    on server: RedisServer, from position: FleetPosition? = nil,
    _ change: (inout FleetSettings) -> Void = { _ in }
  ) throws {
    try self.init(.unix(path: server.socket), join: position, change)
    try waitForState(.ok)
  }

  deinit { engine.stop() }

  // MARK: Waiting

  /// The first event of a kind that has not been taken yet; it is taken, and those before it stay.
  func next<R>(_ what: String = "event", _ pick: @escaping (FleetEvent) -> R?) throws -> R {
    let found: R? = state.wait { state in
      for (index, event) in state.events.enumerated() {
        guard let value = pick(event) else { continue }
        state.events.remove(at: index)
        return value
      }
      return nil
    }
    guard let found else { throw TestFailure("no \(what); there are \(all)") }
    return found
  }

  @discardableResult
  func waitForState(_ phase: FleetState.Phase) throws -> FleetState {
    try next("state \(phase)") { event in
      if case .state(let state) = event, state.phase == phase { state } else { nil }
    }
  }

  func join() throws -> FleetJoin {
    try next("join") { if case .joined(let join) = $0 { join } else { nil } }
  }

  func purges() throws -> [HeardPurge] {
    try next("purges") { if case .purges(let purges) = $0 { purges } else { nil } }
  }

  /// What has been told and not been taken.
  var all: [FleetEvent] { state.with { $0.events } }

  /// Waits until all orders so far have been received.
  func settle() {
    let isDone = Shared(false)
    engine.askForLife { isDone.with { $0 = true } }
    _ = isDone.wait { $0 ? true : nil }
  }

  // MARK: Orders

  func nextSerial() -> UInt64 {
    state.with { state in
      state.serial += 1
      return state.serial
    }
  }

  func begin(_ digest: KeyDigest, claims: Bool = true) -> UInt64 {
    let serial = nextSerial()
    engine.look(FleetLook(serial: serial, digest: digest, claims: claims))
    return serial
  }

  func answer(_ serial: UInt64) throws -> FleetAnswer {
    try next("answer to \(serial)") { event in
      if case .looked(serial, let answer) = event { answer } else { nil }
    }
  }

  func look(_ digest: KeyDigest, claims: Bool = true) throws -> FleetAnswer {
    try answer(begin(digest, claims: claims))
  }

  /// Looks and claims.
  func claim(_ digest: KeyDigest) throws -> UInt64 {
    let serial = begin(digest)
    let answer = try answer(serial)
    guard case .claimed = answer else { throw TestFailure("\(answer) in place of a claim") }
    return serial
  }

  func confirm(_ picture: FleetPicture) -> UInt64 {
    let serial = nextSerial()
    engine.claim(serial: serial, picture.record.digest, replacing: picture.stamp)
    return serial
  }

  func store(
    _ picture: TestedPicture, serial: UInt64? = nil, begunAgo: Duration = .zero,
    age: Duration = .zero, generation: UInt64, lifetime: Duration = .seconds(100)
  ) throws -> FleetStoring {
    let begun = beginStore(
      picture, serial: serial, begunAgo: begunAgo, age: age, generation: generation,
      lifetime: lifetime)
    return try end(of: begun)
  }

  /// Begins to store, and does not wait for its end.
  func beginStore(
    _ picture: TestedPicture, serial: UInt64? = nil, begunAgo: Duration = .zero,
    age: Duration = .zero, generation: UInt64, lifetime: Duration = .seconds(100)
  ) -> UInt64 {
    let serial = serial ?? nextSerial()
    engine.store(
      FleetStore(
        serial: serial, record: picture.record, payload: picture.payload, age: age,
        begunAgo: begunAgo,
        mark: FleetPosition(generation: generation, number: 7, nonce: 9), lifetime: lifetime))
    return serial
  }

  func end(of serial: UInt64) throws -> FleetStoring {
    try next("end of a store") { event in
      if case .stored(serial, let outcome) = event { outcome } else { nil }
    }
  }
}

/// A picture as a host has fetched it.
struct TestedPicture {
  let record: StoredRecord
  let payload: Payload

  init(_ url: String = "http://o/a.png", count: Int = 1_000, seed: Int = 1) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ seed) &* 31 ^ $0 >> 8) }
    payload = Payload(bytes)
    var record = StoredRecord(
      url: url, digest: KeyDigest(url: url, identifier: nil), bytes: count,
      facts: ImageFacts(format: 1, width: 2, height: 3, frames: 1, orientation: 1),
      storedAt: 1_000, freshUntil: 2_000)
    record.checksum = BodyChecksum(of: payload)
    record.tags = ["red"]
    self.record = record
  }

  var digest: KeyDigest { record.digest }
}

extension RedisServer {
  /// The life of its data, as hosts have named it.
  func generation() throws -> UInt64 {
    try UInt64(command("GET", "imgd:generation").text ?? "") ?? 0
  }

  /// Asks it until something holds, which it becomes by itself.
  func wait(_ what: String, until holds: () throws -> Bool) throws {
    guard try becomes(holds) else { throw TestFailure("no \(what)") }
  }

  /// Adds an entry to the log as another host would, or as it never would.
  func purge(_ fields: String..., id: String = "0-*") throws {
    _ = try command((["XADD", "imgd:purges", id] + fields).map { Array($0.utf8) })
  }
}

func key(_ digest: KeyDigest) -> String { "imgd:p:\(digest.hex)" }
