internal import ImgdSystem

/// Why the disk tier could not do something, by what can be done about it.
struct DiskTrouble: Error, Sendable {
  enum Kind: Sendable {
    /// There is no room: something has to go.
    case full
    /// Nothing can be written, for now.
    case readOnly
    /// The path no longer leads to the directory that was opened.
    case gone
    /// The index file cannot be used.
    case indexLost
    /// The directory is missing or unusable, and this process has no right to change that.
    case excluded
    /// Anything else, such as a failing disk.
    case broken
  }

  static let directoryIsGone = DiskTrouble(.gone, "the cache directory was removed")

  let kind: Kind
  let reason: String

  init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }

  init(_ failure: SystemFailure) {
    kind = Kind(StorageTrouble(failure))
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
      case .storage(_, let errno, _): Kind(StorageTrouble(SystemFailure("index", errno: errno)))
      default: .broken
      }
  }
}

extension DiskTrouble.Kind {
  fileprivate init(_ trouble: StorageTrouble) {
    switch trouble {
    case .full: self = .full
    case .readOnly: self = .readOnly
    case .gone: self = .gone
    case .broken: self = .broken
    }
  }
}
