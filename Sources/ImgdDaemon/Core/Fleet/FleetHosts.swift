import Glibc
import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem

/// The hosts of the fleet: what this one writes about itself from time to time, and what all have written.
///
/// Each host goes by its own version and settings. Where one asks the origin and others do not, the list shows how they
/// differ.
final class FleetHosts {
  /// How often this host writes its line.
  static let pause = Duration.seconds(10)
  /// Hosts that have written nothing for so long are away.
  static let longestSilence = Duration.seconds(60)
  /// For so long an answer of the server serves all who ask.
  static let answerLife = Duration.seconds(1)

  typealias Answer = Result<HostList.Report, HostList.Problem>

  private let fleet: (any Fleet)?
  private let tier: FleetTier
  private let purges: FleetPurges
  private let loop: EventLoop
  private var settings: Configuration
  private var writing: Timer?
  private var asking: Timer?
  private var waiting: [(Answer) -> Void] = []
  private var last: (answer: Answer, at: Instant)?
  /// Why this host is not in the list.
  private(set) var refusal: String?

  init(_ fleet: (any Fleet)?, tier: FleetTier, purges: FleetPurges, loop: EventLoop, settings: Configuration) {
    self.fleet = fleet
    self.tier = tier
    self.purges = purges
    self.loop = loop
    self.settings = settings
  }

  func apply(_ settings: Configuration) { self.settings = settings }

  func receive(_ event: FleetEvent) {
    switch event {
    case .state(let state):
      writing.take()?.cancel()
      if state.phase == .ok { write() }
    case .unlisted(let reason):
      refusal = reason
      if let reason { Log.notice(.fleet, "this host is not in the list of hosts: \(reason)", .code(.fleetUnlisted)) }
    case .hosts(let answer): answerAll(with: answer)
    default: break
    }
  }

  // MARK: This host

  private func write() {
    fleet?.announce(line)
    writing = loop.schedule(after: Self.pause) { [unowned self] in write() }
  }

  /// What there is to say about this host now.
  var line: HostNote {
    var line = HostNote()
    line.machine = MachineName.own
    line.version = Release.version
    line.layout = Int(FleetValue.newestLayout)
    line.position = purges.inForce?.number ?? 0
    line.waiting = purges.lag
    line.pending = purges.pending
    line.settings = settings.limitsOfSharedPictures
    return line
  }

  // MARK: All hosts

  /// Asks the server for all hosts; one question serves all who ask at once.
  func ask(_ then: @escaping (Answer) -> Void) {
    if let last, loop.now - last.at < Self.answerLife { return then(last.answer) }
    waiting.append(then)
    guard waiting.count == 1 else { return }
    asking = loop.schedule(after: settings.fleet.timeout) { [unowned self] in
      answerAll(with: .failure(HostList.Problem(reason: "the fleet's server did not answer within Fleet.Timeout=")))
    }
    fleet?.askForHosts()
  }

  private func answerAll(with answer: Answer) {
    asking.take()?.cancel()
    last = (answer, loop.now)
    let all = waiting
    waiting = []
    for then in all { then(answer) }
  }
}

extension Configuration {
  /// The settings by which hosts may refuse each other's pictures, as `config` shows them.
  var limitsOfSharedPictures: [HostNote.Setting] {
    let names = [
      "Fleet.Pictures", "Fleet.MaxObject", "Downloads.AcceptTypes", "Downloads.MaxBytes", "Network.Private",
      "Decode.MaxPixels",
      "Decode.MaxFrames", "Decode.MaxDimension",
    ]
    return Self.keys.filter { names.contains($0.fullName) }.map { HostNote.Setting($0.fullName, $0.text(self)) }
  }
}

/// The name that this machine has given itself.
enum MachineName {
  static var own: String {
    var name = [CChar](repeating: 0, count: 65)
    // One byte fewer than there are: a name that is cut off need not end with a zero. The array outlives the call.
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "?" }
    return printable(String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}
