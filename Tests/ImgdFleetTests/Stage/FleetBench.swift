import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache
@testable import ImgdFleet

/// One host of a fleet with a real server, on a thread of its own and by the real clock.
final class FleetBench: FleetHost, Sendable {
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

  // MARK: Events

  func next<R>(_ what: String, _ pick: @escaping (FleetEvent) -> R?) throws -> R {
    guard let found = state.wait(for: { self.pop(&$0.events, pick) }) else {
      throw TestFailure("no \(what); there are \(all)")
    }
    return found
  }

  var all: [FleetEvent] { state.with { $0.events } }

  // MARK: Orders

  /// Through the calls that the daemon makes.
  func order(_ message: FleetMessage) {
    switch message {
    case .join(let position): engine.join(from: position)
    case .look(let look): engine.look(look)
    case .claim(let serial, let digest, let stamp):
      engine.claim(serial: serial, digest, replacing: stamp)
    case .renew(let serial): engine.renew(serial: serial)
    case .release(let serial, let removing): engine.release(serial: serial, removing: removing)
    case .remove(let digest): engine.remove(digest)
    case .store(let store): engine.store(store)
    case .send(let purge): engine.send(purge)
    case .announce(let line): engine.announce(line)
    case .askForHosts: engine.askForHosts()
    case .apply(let maxObject, let timeout): engine.apply(maxObject: maxObject, timeout: timeout)
    case .askForLife(let answer): engine.askForLife(answer)
    case .stop: engine.stop()
    }
  }

  func nextSerial() -> UInt64 {
    state.with { state in
      state.serial += 1
      return state.serial
    }
  }
}

/// A picture as a host has fetched it.
struct TestedPicture {
  let record: StoredRecord
  let payload: Payload

  init(record: StoredRecord, payload: Payload) { (self.record, self.payload) = (record, payload) }

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

  /// That of the picture of a URL.
  static func digest(_ url: String) -> KeyDigest { KeyDigest(url: url, identifier: nil) }

  /// The value that a server has of it.
  func value(stamp: UInt64 = 1) -> RedisReply {
    front(stamp: stamp).map { .bytes($0 + payload.bytes) } ?? .nothing
  }

  var front: [UInt8]? { front(stamp: 1) }

  /// What stands before the picture in its value.
  private func front(stamp: UInt64) -> [UInt8]? {
    let value = FleetValue(
      begunAt: 1, storedAt: 2, mark: FleetPosition(generation: 5, number: 7, nonce: 9),
      stamp: stamp, record: record, payload: payload)
    return value.front
  }
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
