import Glibc
package import ImgdSystem

/// The kinds of trouble with the storage that ask for different steps.
package enum StorageTrouble: Hashable, Sendable {
  /// No room, for anybody or for this user: something must be removed.
  case full
  /// It cannot be written, though what is there may still be read.
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
