/// The abilities of the tier at this moment, and the trouble that limits them.
final class DiskHealth {
  private(set) var state: DiskState
  /// Nothing can be written for want of room.
  private(set) var isFull = false
  /// It will be known soon whether anything can be stored.
  private(set) var isOpening = false

  private let reports: DiskReports
  /// The trouble that stands in the way since the tier last worked.
  private(set) var reason: String?

  init(_ state: DiskState, reports: DiskReports) {
    self.state = state
    self.reports = reports
  }

  /// Whether anything can be found.
  var isUp: Bool {
    switch state {
    case .ok, .readOnly: true
    case .down, .off: false
    }
  }

  /// Why there is nothing, and will not be soon; nil otherwise.
  var absence: PathRefusal? {
    switch state {
    case .ok, .readOnly: nil
    case .down: isOpening ? nil : .down
    case .off: .off
    }
  }

  /// Reports trouble once, however often the cause is tried again.
  func tell(_ trouble: DiskTrouble) {
    guard trouble.reason != reason else { return }
    reason = trouble.reason
    reports.onNews(.trouble(trouble.reason))
  }

  /// Takes note of trouble that has been reported already.
  func begin(with reason: String) {
    self.reason = reason
  }

  func worsen(to state: DiskState, isFull: Bool = false) {
    self.state = state
    self.isFull = isFull
  }

  func recover() {
    state = .ok
    guard reason != nil else { return }
    reason = nil
    reports.onNews(.recovered)
  }

  func beginOpening() { isOpening = true }

  func endOpening() { isOpening = false }
}
