internal import CLinux
import Glibc

/// A file that one process at a time has locked, with that process's id in it. The kernel releases the lock when its
/// holder ends. The file is never removed: otherwise two processes could lock two files of one name.
package struct ProcessLock: ~Copyable, Sendable {
  private let descriptor: FileDescriptor

  private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Closing would not be enough: a program that is just being started has a copy of the descriptor.
  deinit { _ = linux_unlock(descriptor.number) }

  /// The result of an attempt to take the lock.
  package enum Answer: ~Copyable {
    case held(ProcessLock)
    /// Another process has it; nil when the file does not name it.
    case taken(pid: Int32?)
    /// The name belongs to something other than a regular file.
    case notAFile
  }

  /// Takes the lock `name` in a directory, without waiting.
  package static func acquire(_ name: String, in directory: borrowing Directory) throws(SystemFailure) -> Answer {
    let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    let number = unsafe openat(directory.descriptor.number, name, flags, 0o600)
    let subject = directory.path + "/" + name
    guard number >= 0 else {
      if errno == ELOOP || errno == EISDIR || errno == ENXIO { return .notAFile }
      throw SystemFailure("open", subject)
    }
    let file = FileDescriptor(owning: number)
    guard try file.status(subject).kind == .regular else { return .notAFile }
    guard linux_lock_exclusive(number) == 0 else {
      guard errno == EWOULDBLOCK else { throw SystemFailure("flock", subject) }
      return .taken(pid: try holder(in: file))
    }
    note(getpid(), in: file)
    return .held(ProcessLock(file))
  }

  /// The lock also holds when the id cannot be written, as on a full disk.
  private static func note(_ pid: Int32, in file: borrowing FileDescriptor) {
    guard ftruncate(file.number, 0) == 0 else { return }
    unsafe Array("\(pid)\n".utf8).withUnsafeBytes { text in _ = unsafe file.write(all: text, to: "a lock") }
  }

  private static func holder(in file: borrowing FileDescriptor) throws(SystemFailure) -> Int32? {
    let text = String(decoding: try file.front(16), as: UTF8.self)
    return Int32(text.prefix { $0 != "\n" })
  }
}
