// Public and frozen, or Embedded Swift permits no `discard` and does not find the deinit from another module.

internal import CLinux
import Glibc

/// The only owner of one descriptor, which is closed with it.
@frozen public struct FileDescriptor: ~Copyable {
  package let number: CInt
  private let closesSlowly: Bool

  package init(owning number: CInt, closesSlowly: Bool = false) {
    self.number = number
    self.closesSlowly = closesSlowly
  }

  /// Takes over what a call has just returned; a negative number is a failure, with its reason in `errno`.
  init(returned number: CInt, by call: String, _ subject: String = "") throws(SystemFailure) {
    guard number >= 0 else { throw SystemFailure(call, subject) }
    self.init(owning: number)
  }

  /// Opens a file; a new one is accessible only to its owner.
  package init(opening path: String, _ flags: CInt) throws(SystemFailure) {
    try self.init(returned: unsafe open(path, flags | O_CLOEXEC, 0o600), by: "open", path)
  }

  /// Opens a file for reading its bytes by their places, without waiting for the other end of what is no file.
  package init(reading path: String) throws(SystemFailure) {
    try self.init(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
  }

  /// Another descriptor of the same open file.
  package init(duplicating number: CInt) throws(SystemFailure) {
    try self.init(returned: linux_duplicate(number), by: "dup")
  }

  deinit { if closesSlowly { SlowClosing.close(number) } else { Glibc.close(number) } }

  /// The same descriptor, to be closed by `SlowClosing`, so that nobody waits for that.
  consuming func closingSlowly() -> FileDescriptor { FileDescriptor(owning: release(), closesSlowly: true) }

  /// Gives the descriptor away: the caller closes it from here on.
  package consuming func release() -> CInt {
    let number = self.number
    discard self
    return number
  }

  /// The status of this file; `subject` names it in a failure.
  package func status(_ subject: String) throws(SystemFailure) -> FileStatus {
    var status = stat()
    guard unsafe linux_status(number, &status) == 0 else { throw SystemFailure("fstat", subject) }
    return FileStatus(status)
  }

  /// Gives the file these permissions; `subject` names it in a failure.
  package func setPermissions(_ permissions: UInt32, of subject: String) throws(SystemFailure) {
    guard fchmod(number, permissions) == 0 else { throw SystemFailure("chmod", subject) }
  }

  // MARK: Reading and writing

  func write(all bytes: UnsafeRawBufferPointer, to subject: String) -> SystemFailure? {
    var rest = unsafe bytes
    while unsafe !rest.isEmpty {
      let written = unsafe Glibc.write(number, rest.baseAddress, rest.count)
      guard written >= 0 || errno == EINTR else { return SystemFailure("write", subject) }
      if written > 0 { unsafe rest = UnsafeRawBufferPointer(rebasing: rest[written...]) }
    }
    return nil
  }

  /// Copies `count` bytes of `source` from `start` on to this file's offset, within the kernel, and returns how many:
  /// fewer when `source` ends earlier. `copy_file_range` refuses to copy between file systems.
  func append(from source: borrowing FileDescriptor, at start: Int = 0, count: Int) throws(SystemFailure) -> Int {
    var copied = 0
    while copied < count {
      let sent = linux_send_file(number, source.number, off_t(start + copied), count - copied)
      guard sent >= 0 || errno == EINTR else { throw SystemFailure("sendfile") }
      if sent == 0 { break }
      copied += max(sent, 0)
    }
    return copied
  }

  /// The bytes of one read; empty at the end. `subject` names the file in a failure.
  package func part(_ limit: Int, of subject: String) throws(SystemFailure) -> [UInt8] {
    try Self.part(limit, from: number, of: subject)
  }

  /// The bytes of one read from a descriptor that belongs to somebody else.
  package static func part(_ limit: Int, from number: CInt, of subject: String) throws(SystemFailure) -> [UInt8] {
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, filled in
      repeat {
        // Fills at most the size of the buffer.
        count = unsafe read(number, room.baseAddress, room.count)
      } while count < 0 && errno == EINTR
      filled = max(count, 0)
    }
    guard count >= 0 else { throw SystemFailure("read", subject) }
    return bytes
  }

  /// A file in memory with these bytes.
  package static func copy(of bytes: Span<UInt8>) throws(SystemFailure) -> FileDescriptor {
    let copy = try FileDescriptor(returned: unsafe linux_memfd("imgd"), by: "memfd_create")
    if let failure = unsafe bytes.withUnsafeBytes({ unsafe copy.write(all: $0, to: "a memfd") }) { throw failure }
    return copy
  }

  /// A file in memory with what a descriptor yields up to its end; `EFBIG` if that is more than `limit` bytes.
  package static func copy(
    of number: CInt, atMost limit: Int, named subject: String
  ) throws(SystemFailure) -> FileDescriptor {
    let copy = try copy(of: [UInt8]().span)
    var count = 0
    while case let part = try part(1 << 16, from: number, of: subject), !part.isEmpty {
      count += part.count
      guard count <= limit else { throw SystemFailure("read", subject, errno: EFBIG) }
      if let failure = unsafe part.withUnsafeBytes({ unsafe copy.write(all: $0, to: "a memfd") }) { throw failure }
    }
    return copy
  }

  /// Everything after the file's offset, but at most `limit` bytes.
  package func rest(_ limit: Int, of subject: String) throws(SystemFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let part = try part(min(limit - bytes.count, 1 << 16), of: subject)
      if part.isEmpty { break }
      bytes += part
    }
    return bytes
  }

  /// At most `limit` bytes of the file from `start` on; `subject` names it in a failure.
  package func front(_ limit: Int, from start: Int = 0, of subject: String = "") throws(SystemFailure) -> [UInt8] {
    var failed: SystemFailure?
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { room, filled in
      do throws(SystemFailure) {
        filled = try unsafe fill(UnsafeMutableRawBufferPointer(room), from: start, of: subject)
      } catch { failed = error }
    }
    if let failed { throw failed }
    return bytes
  }

  /// Fills the room with the file's bytes from `start` on, as far as there are so many; returns how many there were.
  func fill(
    _ room: UnsafeMutableRawBufferPointer, from start: Int, of subject: String = ""
  ) throws(SystemFailure) -> Int {
    var filled = 0
    while filled < room.count {
      let got = unsafe pread(
        number, room.baseAddress.map { unsafe $0 + filled }, room.count - filled, off_t(start + filled))
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw SystemFailure("read", subject) }
      if got == 0 { break }
      filled += got
    }
    return filled
  }

  /// The same from the beginning with what the kernel has at hand: the disk is never waited for.
  func fillAtHand(_ room: UnsafeMutableRawBufferPointer) -> Int {
    max(unsafe linux_read_at_hand(number, room.baseAddress, room.count, 0), 0)
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

/// One descriptor with several owners, closed when the last of them is gone.
package final class SharedDescriptor: Sendable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
}

/// The status of one file at one moment.
package struct FileStatus: Sendable {
  /// The kind of a file.
  package enum Kind: Sendable { case regular, directory, link, pipe, socket, device, other }

  /// Identifies a file independent of its name.
  package struct Identity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64

    package init(device: UInt64, inode: UInt64) {
      self.device = device
      self.inode = inode
    }
  }

  package let identity: Identity
  package let kind: Kind
  package let owner: UInt32
  package let group: UInt32
  /// The permission bits, with those for set-user, set-group and sticky.
  package let permissions: UInt32
  package let size: Int
  /// The bytes of its blocks.
  package let allocated: Int
  /// A number that differs after each change of the file, its permissions or its name, and from file to file; never
  /// 0. It is made from the inode and the time of its last change, which programs cannot set.
  package let stamp: UInt64

  package var isWritableByOthers: Bool { permissions & 0o022 != 0 }

  init(_ status: stat) {
    identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    kind = Self.kind(of: status.st_mode)
    owner = status.st_uid
    group = status.st_gid
    permissions = status.st_mode & 0o7777
    size = Int(status.st_size)
    allocated = Int(status.st_blocks) * 512  // the unit is independent of the file system
    stamp = Self.stamp(status)
  }

  private static func stamp(_ status: stat) -> UInt64 {
    let (seconds, nanoseconds) = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
    var stamp = UInt64(bitPattern: Int64(seconds &* 1_000_000_000 &+ nanoseconds))
    for number in [UInt64(status.st_ino), UInt64(status.st_dev)] {
      stamp = (stamp ^ stamp >> 32 ^ number) &* 0x9e37_79b9_7f4a_7c15
    }
    return max(stamp ^ stamp >> 29, 1)
  }

  private static func kind(of mode: mode_t) -> Kind {
    switch mode & S_IFMT {
    case S_IFREG: .regular
    case S_IFDIR: .directory
    case S_IFLNK: .link
    case S_IFIFO: .pipe
    case S_IFSOCK: .socket
    case S_IFCHR, S_IFBLK: .device
    default: .other
    }
  }

  /// The status of the file at `path`; a link is not followed.
  package static func of(path: String) throws(SystemFailure) -> FileStatus {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { throw SystemFailure("lstat", path) }
    return FileStatus(status)
  }
}

/// Closes descriptors on a thread of its own, if that may take long: with the last descriptor of a large
/// memfd the kernel frees its pages, and a loop that others wait for has no time for that.
enum SlowClosing {
  private static let waiting = Locked<[CInt]>([])
  /// Started with the first descriptor; nil if the system has no thread left.
  private static let thread = try? Thread(name: "imgd-closer") {
    while true { Glibc.close(waiting.wait { $0.popLast() }) }
  }

  static func close(_ number: CInt) {
    guard thread != nil else {
      Glibc.close(number)
      return
    }
    waiting.signal { $0.append(number) }
  }
}
