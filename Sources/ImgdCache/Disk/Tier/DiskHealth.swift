import Glibc
package import ImgdSystem

/// What the tier can do at this moment, and the trouble that limits it.
final class DiskHealth {
  private(set) var state: DiskState
  /// Whether nothing can be written for lack of room.
  private(set) var isFull = false
  var isOpening = false

  private let reports: DiskReports
  var reason: String?
  /// What is worth knowing while everything works.
  var note: String?

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
}

/// Why the disk tier could not do something, by what can be done about it.
struct DiskTrouble: Error, Sendable {
  enum Kind: Sendable {
    case full
    case readOnly
    case gone
    case indexLost
    /// The directory is missing or unusable, and this process has no right to change that.
    case excluded
    /// Anything else, such as a failing disk.
    case broken

    fileprivate init(_ failure: SystemFailure) {
      switch StorageTrouble(failure) {
      case .full: self = .full
      case .readOnly: self = .readOnly
      case .gone: self = .gone
      case .broken: self = .broken
      }
    }
  }

  static let directoryIsGone = DiskTrouble(.gone, "the cache directory was removed")

  let kind: Kind
  let reason: String

  init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }

  init(_ failure: SystemFailure) {
    kind = Kind(failure)
    reason = failure.description
  }

  init(_ problem: DirectoryProblem) {
    kind = problem.isExclusion ? .excluded : .broken
    reason = problem.description
  }

  init(_ problem: IndexProblem) {
    reason = problem.description
    kind =
      switch problem {
      case .damaged, .fromTheFuture: .indexLost
      case .storage(_, let errno, _): Kind(SystemFailure("index", errno: errno))
      default: .broken
      }
  }
}

/// The kinds of trouble with the storage that call for different measures.
package enum StorageTrouble: Hashable, Sendable {
  /// There is no room, for anybody or for this user: something must be removed.
  case full
  /// Nothing can be written, but what is there may still be readable.
  case readOnly
  /// The directory has been moved or removed.
  case gone
  case broken

  package init(_ failure: SystemFailure) {
    switch failure.errno {
    case ENOSPC, EDQUOT: self = .full
    case EROFS, EACCES, EPERM: self = .readOnly
    case ENOENT, ESTALE, ENOTDIR: self = .gone
    default: self = .broken
    }
  }
}
