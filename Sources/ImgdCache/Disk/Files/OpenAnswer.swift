import Glibc
package import ImgdSystem

/// The outcome of an attempt to open a picture.
package enum OpenAnswer: ~Copyable, Sendable {
  /// The file is open; `stamp` is the stamp of its status.
  case file(FileDescriptor, stamp: UInt64)
  case missing
  /// It is not what was stored; the text says why not.
  case damaged(String)
  /// The call was not allowed to wait, and the kernel would have to ask the disk.
  case wouldWait
  case failed(SystemFailure)

  /// Interprets a failure to open a picture.
  init(_ failure: SystemFailure) {
    self =
      switch failure.errno {
      case ENOENT: .missing
      case EAGAIN: .wouldWait
      case ELOOP, EXDEV: .damaged("there is a symbolic link in its place or on the way to it")
      case ENOTDIR, EISDIR: .damaged("there is something else on the way to it")
      case ENXIO, ENODEV: .damaged("it is not a regular file")
      case EACCES: .damaged("it may not be read")
      default: .failed(failure)
      }
  }
}

/// The outcome of a look at a picture's file.
package enum CheckAnswer: Sendable {
  case sound, missing, damaged
  /// It has the length that was stored, but its bytes have not been compared since it was last changed.
  case unknown
  /// The kernel would have to wait for the disk to find out.
  case wouldWait
}

extension FileStatus {
  /// Why a file is not the picture of `count` bytes that was stored, as far as its status tells.
  func damage(expecting count: Int) -> String? {
    if kind != .regular { return "it is not a regular file" }
    if owner != geteuid() { return "it belongs to user \(owner)" }
    if isWritableByOthers { return "others may write to it" }
    if size != count { return "it has \(size) bytes instead of \(count)" }
    return nil
  }
}
