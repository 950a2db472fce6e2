import ImgdCache
import ImgdSystem
import ImgdWire

@testable import ImgdDaemon
@testable import ImgdFleet

/// The fleet of a core: it notes the orders, answers looks and claims as a test plans it, and tells the core
/// whatever else the test wants.
final class PlannedFleet: Fleet {
  enum Order {
    case join(FleetPosition?)
    case look(FleetLook)
    case claim(serial: UInt64, KeyDigest, replacing: UInt64)
    case renew(serial: UInt64)
    case release(serial: UInt64, removing: Bool)
    case remove(KeyDigest)
    case store(FleetStore)
    case send(FleetPurge)
    case announce(HostNote)
    case askForHosts
  }

  private(set) var orders: [Order] = []
  /// The answers to looks and claims, each once; nil is silence. Without a plan there is nothing in the
  /// server, and a host that wants to fetch it has the claim.
  private var plans: [FleetAnswer?] = []
  /// Whether purges get into the log at once.
  var takesPurges = false
  private weak var core: Core?
  private weak var loop: EventLoop?

  func attach(to core: Core, on loop: EventLoop) {
    self.core = core
    self.loop = loop
  }

  func plan(_ answers: FleetAnswer?...) { plans += answers }

  /// Has the core hear of an event in its next tick.
  func tell(_ event: FleetEvent) {
    loop?.nextTick { [weak core] in core?.receive(FleetReport(event)) }
  }

  private func answer(_ serial: UInt64, orElse usual: FleetAnswer) {
    let answer = plans.isEmpty ? usual : plans.removeFirst()
    if let answer { tell(.looked(serial: serial, answer)) }
  }

  func join(from position: FleetPosition?) { orders.append(.join(position)) }

  func look(_ look: FleetLook) {
    orders.append(.look(look))
    answer(look.serial, orElse: look.claims ? .claimed : .nothing)
  }

  func claim(serial: UInt64, _ digest: KeyDigest, replacing stamp: UInt64) {
    orders.append(.claim(serial: serial, digest, replacing: stamp))
    answer(serial, orElse: .claimed)
  }

  func renew(serial: UInt64) { orders.append(.renew(serial: serial)) }

  func release(serial: UInt64, removing: Bool) {
    orders.append(.release(serial: serial, removing: removing))
  }

  func announce(_ line: HostNote) { orders.append(.announce(line)) }
  func askForHosts() { orders.append(.askForHosts) }
  func remove(_ digest: KeyDigest) { orders.append(.remove(digest)) }
  func store(_ store: FleetStore) { orders.append(.store(store)) }

  func send(_ purge: FleetPurge) {
    orders.append(.send(purge))
    if takesPurges { tell(.sent(nonce: purge.nonce)) }
  }
}

extension PlannedFleet {
  /// The life of the planned server's data.
  static let generation: UInt64 = 7

  /// A place in its log of purges.
  static func mark(_ number: UInt64) -> FleetPosition {
    FleetPosition(generation: generation, number: number, nonce: number)
  }

  /// Has the core know that the fleet can be used, and that nothing was purged.
  func open() {
    tell(.state(FleetState(.ok)))
    tell(
      .joined(
        FleetJoin(generation: Self.generation, last: 0, isFromBeginning: true, loss: nil)))
  }

  /// Has the core hear of a purge, as another host has sent it.
  func tellPurge(_ number: UInt64, _ filter: PurgeFilter, isSoft: Bool = false) {
    let purge = FleetPurge(filter, isSoft: isSoft, askedAt: 0, nonce: number)
    tell(.purges([HeardPurge(number: number, purge: purge, age: .zero)]))
  }

  var stores: [FleetStore] {
    orders.compactMap { if case .store(let store) = $0 { store } else { nil } }
  }

  /// What the core has said about its host.
  var lines: [HostNote] {
    orders.compactMap { if case .announce(let line) = $0 { line } else { nil } }
  }

  /// How often it has asked for all hosts.
  var questions: Int { orders.count { if case .askForHosts = $0 { true } else { false } } }

  /// The serial of the last look or claim.
  var lastSerial: UInt64 {
    for order in orders.reversed() {
      switch order {
      case .look(let look): return look.serial
      case .claim(let serial, _, _): return serial
      default: break
      }
    }
    return 0
  }

  /// The orders in words; serials are numbered as they come.
  var words: [String] {
    var numbers: [UInt64: Int] = [:]
    func number(_ serial: UInt64) -> String {
      numbers[serial] = numbers[serial] ?? numbers.count + 1
      return "#\(numbers[serial] ?? 0)"
    }
    return orders.compactMap { order in
      switch order {
      case .join, .send, .announce, .askForHosts: nil
      case .look(let look): (look.claims ? "look " : "read ") + number(look.serial)
      case .claim(let serial, _, let stamp): "claim \(number(serial)) for \(stamp)"
      case .renew(let serial): "renew " + number(serial)
      case .release(let serial, let removing):
        (removing ? "remove " : "release ") + number(serial)
      case .remove: "remove"
      case .store(let store): "store " + number(store.serial)
      }
    }
  }
}

extension FleetPicture {
  /// What a host has stored, as another one finds it later.
  init(
    _ store: FleetStore, mark: FleetPosition = PlannedFleet.mark(0), stamp: UInt64 = 1,
    age: Duration = .zero
  ) {
    self.init(
      record: store.record, payload: store.payload, mark: mark, stamp: stamp,
      age: store.age + age)
  }
}
