import ImgdCache
import ImgdSystem
import ImgdTestSupport

@testable import ImgdFleet

/// One host of a fleet, which the test has take orders, and whose events it takes.
protocol FleetHost: AnyObject {
  func order(_ message: FleetMessage)
  func nextSerial() -> UInt64
  /// What has been told and not been taken.
  var all: [FleetEvent] { get }
  /// The first event of a kind that has not been taken yet; it is taken, and those before it stay.
  func next<R>(_ what: String, _ pick: @escaping (FleetEvent) -> R?) throws -> R
}

extension FleetHost {
  // MARK: Waiting

  func next<R>(_ pick: @escaping (FleetEvent) -> R?) throws -> R { try next("event", pick) }

  @discardableResult
  func waitForState(_ phase: FleetState.Phase) throws -> FleetState {
    try next("state \(phase)") { event in
      if case .state(let state) = event, state.phase == phase { state } else { nil }
    }
  }

  @discardableResult
  func waitForPictures(_ phase: FleetState.Phase, of server: Int) throws -> FleetState {
    try next("state \(phase) of \(server)") { event in
      if case .pictures(server, let state) = event, state.phase == phase { state } else { nil }
    }
  }

  func join() throws -> FleetJoin {
    try next("join") { if case .joined(let join) = $0 { join } else { nil } }
  }

  func purges() throws -> [HeardPurge] {
    try next("purges") { if case .purges(let purges) = $0 { purges } else { nil } }
  }

  /// Takes the first event of a kind out of some.
  func pop<R>(_ events: inout [FleetEvent], _ pick: (FleetEvent) -> R?) -> R? {
    for (index, event) in events.enumerated() {
      guard let value = pick(event) else { continue }
      events.remove(at: index)
      return value
    }
    return nil
  }

  // MARK: Orders

  func begin(_ digest: KeyDigest, claims: Bool = true) -> UInt64 {
    let serial = nextSerial()
    order(.look(FleetLook(serial: serial, digest: digest, claims: claims)))
    return serial
  }

  func answer(_ serial: UInt64) throws -> FleetAnswer {
    try next("answer to \(serial)") { event in
      // It says that there will be one.
      if case .arriving = event.answer(to: serial) { nil } else { event.answer(to: serial) }
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
    confirm(picture.record.digest, stamp: picture.stamp)
  }

  func confirm(_ digest: KeyDigest, stamp: UInt64) -> UInt64 {
    let serial = nextSerial()
    order(.claim(serial: serial, digest, stamp: stamp))
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
    order(
      .store(
        FleetStore(
          serial: serial, record: picture.record, payload: picture.payload, age: age,
          begunAgo: begunAgo,
          mark: FleetPosition(generation: generation, number: 7, nonce: 9), lifetime: lifetime)))
    return serial
  }

  /// All hosts that are in the list.
  func listed() throws -> HostList.Report {
    order(.askForHosts)
    return try next("list of hosts") { if case .hosts(let outcome) = $0 { outcome } else { nil } }.get()
  }

  func end(of serial: UInt64) throws -> FleetStoring {
    try next("end of a store") { event in
      if case .stored(serial, let outcome) = event { outcome } else { nil }
    }
  }
}

extension FleetEvent {
  func answer(to serial: UInt64) -> FleetAnswer? {
    if case .looked(serial, let answer) = self { answer } else { nil }
  }
}

extension FleetAnswer {
  /// What kind of answer it is.
  var word: String {
    switch self {
    case .nothing: "nothing"
    case .claimed: "claimed"
    case .held: "held"
    case .arriving: "arriving"
    case .found: "found"
    case .failed: "failed"
    case .foundForOthers: "found for others"
    }
  }
}

extension HostNote {
  /// What some host says about itself.
  static func sample(_ machine: String = "web1") -> HostNote {
    var note = HostNote()
    (note.machine, note.version, note.layout, note.position) = (machine, "0.1.0", 1, 7)
    (note.waiting, note.pending) = (2, 3)
    note.settings = [Setting("Fleet.MaxObject", "1M"), Setting("Downloads.AcceptTypes", "jpeg png")]
    return note
  }
}
