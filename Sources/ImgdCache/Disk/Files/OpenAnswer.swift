import Glibc
package import ImgdSystem

/// The outcome of an attempt to open a picture.
package enum OpenAnswer: ~Copyable, Sendable {
  /// `stamp` is that of its status.
  case file(FileDescriptor, stamp: UInt64)
  case missing
  /// There is something else than was stored; the text says why.
  case damaged(String)
  /// It was not to wait, and the kernel would have to ask the disk.
  case wouldWait
  case failed(SystemFailure)

  /// The meaning of a failure to open.
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
  /// It is as long as what was stored, and nobody has compared the bytes since it was last changed.
  case unknown
  /// It cannot be told without waiting.
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
