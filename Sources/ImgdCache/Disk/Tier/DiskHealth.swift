/// What the tier can do at this moment, and the trouble that limits it.
final class DiskHealth {
  private(set) var state: DiskState
  /// Whether nothing can be written for lack of room.
  private(set) var isFull = false
  /// Whether an index is being opened, so that it will soon be known whether anything can be stored.
  private(set) var isOpening = false

  private let reports: DiskReports
  /// The trouble that stands in the way; nil while there is none.
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

  /// Why there are no files, and will not be any soon; nil otherwise.
  var absence: PathRefusal? {
    switch state {
    case .ok, .readOnly: nil
    case .down: isOpening ? nil : .down
    case .off: .off
    }
  }

  /// Reports trouble only once, however often it comes back.
  func tell(_ trouble: DiskTrouble) {
    guard trouble.reason != reason else { return }
    reason = trouble.reason
    reports.onNews(.trouble(trouble.reason))
  }

  /// Takes note of trouble that has been reported already.
  func begin(with reason: String) { self.reason = reason }

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
