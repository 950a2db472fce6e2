// A path is resolved again at every call, and every user who may write to one of its directories decides what it
// leads to. Here the path is resolved once. From then on names are looked up below the directory itself, and the
// kernel is told to follow no link: every file that is opened, linked, renamed or removed lies in this directory,
// even when the directory has been moved or replaced.

internal import CLinux
import Glibc

/// An open directory; names are looked up in it without following links.
package struct Directory: ~Copyable, Sendable {
  /// The path by which it was opened, for messages.
  package let path: String
  let descriptor: FileDescriptor

  /// Opens a directory by its path; the last component may not be a link.
  package init(path: String) throws(SystemFailure) {
    self.init(try FileDescriptor(opening: path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path: path)
  }

  private init(_ descriptor: consuming FileDescriptor, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// Whether its descriptor is one of the last ones that the process may have.
  package var takesReserve: Bool { OpenFiles.isReserve(descriptor.number) }

  // MARK: Status

  /// The status of the directory itself.
  package func status() throws(SystemFailure) -> FileStatus { try descriptor.status(path) }

  /// The status of a file in it; a link is not followed.
  package func status(of name: String) throws(SystemFailure) -> FileStatus {
    var status = stat()
    guard unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw failure("fstatat", name)
    }
    return FileStatus(status)
  }

  /// The bytes of its file system: those that this process may still use, and all of them.
  package func space() throws(SystemFailure) -> (free: Int, total: Int) {
    var answer = statvfs()
    guard unsafe fstatvfs(descriptor.number, &answer) == 0 else { throw SystemFailure("fstatvfs", path) }
    return (bytes(answer.f_bavail, answer.f_frsize), bytes(answer.f_blocks, answer.f_frsize))
  }

  // MARK: Opening

  /// The purpose of opening a file.
  package enum Purpose: Sendable {
    case reading, listing
    /// Only its status: needs no permission on the file and does not change it.
    case status

    fileprivate var number: CInt {
      switch self {
      case .reading: CInt(LINUX_OPEN_FILE)
      case .listing: CInt(LINUX_OPEN_DIRECTORY)
      case .status: CInt(LINUX_OPEN_STATUS)
      }
    }
  }

  /// Opens a file below; a link on the way or at the end is a failure (`ELOOP`). Without `mayWait` it fails with
  /// `EAGAIN` where the kernel would have to read the disk.
  package func open(_ below: String, for purpose: Purpose, mayWait: Bool = true) throws(SystemFailure) -> FileDescriptor
  {
    let number = unsafe linux_open_beneath(descriptor.number, below, purpose.number, mayWait ? 1 : 0)
    if number >= 0 { return FileDescriptor(owning: number) }
    switch (errno, mayWait) {
    // A system call filter that does not know this call yet returns EPERM.
    case (ENOSYS, true), (EPERM, true): return try openBySteps(below, for: purpose)
    case (ENOSYS, false), (EPERM, false), (EINVAL, false): throw failure("openat2", below, errno: EAGAIN)
    default: throw failure("openat2", below)
    }
  }

  /// Opens a file below as `open` does, on a kernel without `openat2`.
  func openBySteps(_ below: String, for purpose: Purpose) throws(SystemFailure) -> FileDescriptor {
    let number = unsafe linux_open_by_steps(descriptor.number, below, purpose.number)
    guard number >= 0 else { throw failure("openat", below) }
    return FileDescriptor(owning: number)
  }

  /// Opens a directory below this one.
  package func directory(_ below: String) throws(SystemFailure) -> Directory {
    Directory(try open(below, for: .listing), path: path + "/" + below)
  }

  // MARK: Changing

  /// Creates a directory with exactly these permissions, independent of the umask; set-group is inherited.
  package static func make(_ path: String, permissions: UInt32) throws(SystemFailure) {
    guard unsafe mkdir(path, permissions) == 0 else { throw SystemFailure("mkdir", path) }
    try Directory(path: path).settle(permissions)
  }

  /// Creates a directory in this one, like the other `make`, and opens it.
  @discardableResult package func make(_ name: String, permissions: UInt32) throws(SystemFailure) -> Directory {
    guard unsafe mkdirat(descriptor.number, name, permissions) == 0 else { throw failure("mkdir", name) }
    let made = try directory(name)
    try made.settle(permissions)
    return made
  }

  /// Changes permissions only where they differ: a change wakes everybody who watches the directory above.
  private func settle(_ permissions: UInt32) throws(SystemFailure) {
    let present = try status().permissions
    let wanted = present & S_ISGID | permissions
    if present != wanted { try descriptor.setPermissions(wanted, of: path) }
  }

  /// Creates a file in this file system without a name, with the permissions that the umask leaves; it
  /// is gone with its descriptor unless it is linked.
  package func makeUnnamedFile(permissions: UInt32) throws(SystemFailure) -> FileDescriptor {
    let number = linux_open_unnamed(descriptor.number, permissions)
    return try FileDescriptor(returned: number, by: "open an unnamed file in", path)
  }

  /// Gives a name to an unnamed file; a name that exists is a failure (`EEXIST`).
  package func link(_ file: borrowing FileDescriptor, as name: String) throws(SystemFailure) {
    guard unsafe linux_link_unnamed(file.number, descriptor.number, name) == 0 else { throw failure("link", name) }
  }

  /// Removes a file, or a link itself, but no directory.
  package func remove(_ name: String) throws(SystemFailure) {
    guard unsafe unlinkat(descriptor.number, name, 0) == 0 else { throw failure("unlink", name) }
  }

  /// Renames a file to the first free of `NAME.aside-1`, `NAME.aside-2`…
  package func setAside(_ name: String) throws(SystemFailure) {
    for number in 1...1_000 {
      let aside = "\(name).aside-\(number)"
      if unsafe linux_rename_new(descriptor.number, name, aside) == 0 { return }
      guard errno == EEXIST else { break }
    }
    throw failure("set aside", name)
  }

  /// The names in it, in no particular order, without `.` and `..`.
  package func names() throws(SystemFailure) -> [String] {
    // A stream takes over its descriptor and moves its offset, so it gets one of its own.
    let own = try open(".", for: .listing)
    guard let stream = unsafe fdopendir(own.number) else { throw SystemFailure("fdopendir", path) }
    _ = own.release()
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe nextEntry(stream) {
      let name = unsafe entryName(entry)
      if name != ".", name != ".." { names.append(name) }
    }
    guard errno == 0 else { throw SystemFailure("readdir", path) }
    return names
  }

  private func failure(_ call: String, _ name: String, errno code: CInt = Glibc.errno) -> SystemFailure {
    SystemFailure(call, path + "/" + name, errno: code)
  }
}

/// The next entry, or nil with `errno` zero at the end.
private func nextEntry(_ stream: OpaquePointer) -> UnsafeMutablePointer<dirent>? {
  errno = 0
  return unsafe readdir(stream)
}

private func entryName(_ entry: UnsafeMutablePointer<dirent>) -> String {
  // readdir guarantees a terminating zero within `d_name`.
  unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
    let end = unsafe bytes.firstIndex(of: 0) ?? bytes.count
    return unsafe String(decoding: bytes[..<end], as: UTF8.self)
  }
}

/// A number of blocks in bytes, clamped to the range.
private func bytes(_ blocks: UInt, _ size: UInt) -> Int {
  let (product, overflow) = blocks.multipliedReportingOverflow(by: size)
  return overflow ? .max : Int(clamping: product)
}

/// Records changes in some directories: files removed, moved, replaced or changed. It wakes nothing. A caller that
/// relies on an earlier look at the files asks first whether anything has happened since, which is one system call
/// for any number of files; the kernel records a change before the call that made it returns.
package final class DirectoryWatch {
  /// A change in a watched directory, or of the directory itself.
  package struct Event {
    /// The directory, as returned by `add`; nil when events have been lost.
    package let directory: CInt?
    /// The name of the file; nil when the directory itself has changed.
    package let name: String?
  }

  /// When a file is moved over another one, the kernel says only that a file was moved to that name.
  private static let interest =
    UInt32(IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    | UInt32(IN_ONLYDIR | IN_DONT_FOLLOW)
  /// Room for many events; the longest has a name of 256 bytes.
  private static let room = 16 * 1024
  private static let longestEvent = 16 + 256

  private let descriptor: FileDescriptor
  private var buffer = [UInt8](repeating: 0, count: room)

  package init() throws(SystemFailure) {
    descriptor = try FileDescriptor(returned: inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC)), by: "inotify_init1")
  }

  /// Watches a directory; returns the number that its events carry. Without `noticesWriting`, writing causes none.
  package func add(_ path: String, noticesWriting: Bool = true) throws(SystemFailure) -> CInt {
    let interest = Self.interest | (noticesWriting ? UInt32(IN_MODIFY) : 0)
    let number = unsafe inotify_add_watch(descriptor.number, path, interest)
    guard number >= 0 else { throw SystemFailure("inotify_add_watch", path) }
    return number
  }

  /// The events since the last call, oldest first; usually none.
  package func events() -> [Event] {
    var events: [Event] = []
    while case let count = unsafe read(descriptor.number, &buffer, buffer.count), count > 0 {
      append(to: &events, from: count)
      // There was room for another event: no more are waiting.
      if count <= buffer.count - Self.longestEvent { break }
    }
    return events
  }

  /// An event is four numbers of 32 bits, the last the length of a name that is padded with zeros.
  private func append(to events: inout [Event], from count: Int) {
    var offset = 0
    while offset + 16 <= count {
      let directory = CInt(bitPattern: word(at: offset))
      let length = Int(word(at: offset + 12))
      let end = min(offset + 16 + length, count)
      let name = buffer[(offset + 16)..<end].prefix { $0 != 0 }
      events.append(
        Event(
          directory: directory < 0 ? nil : directory, name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self)))
      offset = end
    }
  }

  private func word(at offset: Int) -> UInt32 { (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(buffer[offset + $1]) } }
}
