internal import CLinux
import Glibc

extension FileDescriptor {
  /// Writes all the bytes where the file's offset is; `subject` names it in a failure.
  func write(all bytes: UnsafeRawBufferPointer, to subject: String) -> SystemFailure? {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
      let written = unsafe Glibc.write(number, rest.baseAddress, rest.count)
      guard written >= 0 || errno == EINTR else { return SystemFailure("write", subject) }
      if written > 0 { unsafe rest = UnsafeRawBufferPointer(rebasing: rest[written...]) }
    }
    return nil
  }

  /// Copies `count` bytes from the front of `source`, or from elsewhere on, in the kernel, to where
  /// this file's offset is, and says how many there were: fewer when `source` ends before.
  ///
  /// `copy_file_range` would do no better: it refuses two file systems.
  func append(
    from source: borrowing FileDescriptor, at start: Int = 0, count: Int
  ) throws(SystemFailure) -> Int {
    var copied = 0
    while copied < count {
      let sent = linux_send_file(number, source.number, off_t(start + copied), count - copied)
      guard sent >= 0 || errno == EINTR else { throw SystemFailure("sendfile") }
      if sent == 0 { break }
      copied += max(sent, 0)
    }
    return copied
  }

  /// The bytes at the front of the file, or from elsewhere on, at most `limit`.
  func front(_ limit: Int, from start: Int = 0) throws(SystemFailure) -> [UInt8] {
    var failed: SystemFailure?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, filled in
      while filled < limit {
        let got = unsafe pread(
          number, room.baseAddress.map { unsafe $0 + filled }, limit - filled,
          off_t(start + filled))
        if got < 0, errno == EINTR { continue }
        if got < 0 { failed = SystemFailure("read") }
        if got <= 0 { break }
        filled += got
      }
    }
    if let failed { throw failed }
    return bytes
  }

  /// Whether the file ends at `count` or before.
  func ends(at count: Int) throws(SystemFailure) -> Bool {
    var byte: UInt8 = 0
    while true {
      let got = unsafe pread(number, &byte, 1, off_t(count))
      if got >= 0 { return got == 0 }
      guard errno == EINTR else { throw SystemFailure("read") }
    }
  }
}
