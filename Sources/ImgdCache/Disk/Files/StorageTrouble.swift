import Glibc
package import ImgdSystem

/// What is the matter with the storage, as far as it decides what to do next.
package enum StorageTrouble: Hashable, Sendable {
  /// No room, for anybody or for this user: something must be removed.
  case full
  /// It cannot be written, though what is there may still be read.
  case readOnly
  /// What was there has been moved or removed.
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
