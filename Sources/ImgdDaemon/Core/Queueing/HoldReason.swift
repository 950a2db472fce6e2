import ImgdSystem
import ImgdWire

/// Why a download does not begin.
enum HoldReason: Equatable {
  /// No route leads to its host.
  case offline
  /// Its host has asked to be left alone for so long.
  case asked(Duration)
  /// By the pace of its host the next one may begin in so long.
  case rate(Duration)
  /// So many run from its host, and no more may.
  case hostPlaces(Int)
  /// All that run from its host are slow: other hosts go first.
  case slowHost
  /// So many run in all, and no more may.
  case places(Int)

  /// The reason in the words of the protocol.
  var name: String {
    switch self {
    case .offline: "offline"
    case .asked: "asked"
    case .rate: "rate"
    case .hostPlaces: "host_places"
    case .slowHost: "slow_host"
    case .places: "places"
    }
  }

  /// How long it holds at least, where that is known.
  var wait: Duration? {
    switch self {
    case .asked(let time), .rate(let time): time
    case .offline, .hostPlaces, .slowHost, .places: nil
    }
  }

  /// Whether its host has said so, whether or not anything waits for it.
  var isOfHost: Bool { if case .asked = self { true } else { false } }

  /// The sentence for people about a fetch that waited for too long.
  func complaint(about host: String, after time: String) -> String {
    switch self {
    case .offline: "waited \(time) for the network: this machine is offline, and no route leads to \(host)"
    case .asked: "waited \(time) in the queue: \(host) has asked to be left alone for a while"
    case .rate: "waited \(time) in the queue: downloads from \(host) begin no faster than its section allows"
    case .hostPlaces(let running):
      "waited \(time) in the queue: \(Self.count(running)) running from \(host), and no more may"
    case .slowHost: "waited \(time) in the queue: \(host) is slow, and other hosts go first"
    case .places(let running): "waited \(time) in the queue; \(Self.count(running)) running"
    }
  }

  static func count(_ running: Int) -> String { running == 1 ? "1 download is" : "\(running) downloads are" }
}

extension HostGate {
  /// Why nothing more begins at a host now; nil where its next download waits for its turn alone.
  func hold(of name: String, at now: Instant) -> HoldReason? {
    guard let host = hosts[name] else { return commonHold }
    if host.isWithheld { return .offline }
    if let end = host.heldUntil, end > now { return .asked(end - now) }
    if let end = host.pauseEnd, end > now { return .rate(end - now) }
    if !host.hasPlace(atMost: mostPerHost) { return .hostPlaces(host.active) }
    if host.yields { return .slowHost }
    return commonHold
  }

  private var commonHold: HoldReason? { places.hasAny ? nil : .places(places.active) }
}

extension JSONWriter {
  /// Tells why something waits, and how long it does at least.
  mutating func hold(_ reason: HoldReason) {
    field("held", reason.name)
    if let wait = reason.wait { field("wait_ms", Int(wait.milliseconds)) }
  }
}
