import Glibc
package import ImgdSystem

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
