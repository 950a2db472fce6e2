// A picture appears under its name complete or not at all: it is written to a temporary file in the same
// directory, which then gets the name. A new name is given by link(2), which never replaces anything, so two
// programs that write the same file cannot overwrite each other. To replace a file, the temporary one takes over
// its mode and owner and is renamed; a symbolic link is followed first, and stays.
//
// The caller has blocked the signals that end imgctl, so that no temporary file is left behind.

import Glibc
import ImgdSystem

/// Copies pictures from descriptors to files.
enum OutputFile {
  /// What happens to a file that exists.
  enum Collision { case refuse, keep, replace }

  enum Outcome { case written, kept }

  enum Problem: Error, CustomStringConvertible {
    case exists(String)
    /// Only root could give the new file to the owner of the old one.
    case foreign(String)
    case failed(SystemFailure)

    var description: String {
      switch self {
      case .exists(let path): "\(path) exists: write --force to replace it, or --no-clobber to keep it"
      case .foreign(let path): "\(path) belongs to another user, and only root could replace it and keep its owner"
      case .failed(let failure): failure.description
      }
    }
  }

  /// Whether a name is taken, by a file of any kind or by a dangling link, so that no picture may be put there. Pipes
  /// and devices are written into, and do not count as taken.
  static func isTaken(_ path: String) -> Bool { status(of: path, followingLinks: false) != nil && !isSpecial(path) }

  /// Whether the path is a pipe, a device or the like, which is written into and not replaced.
  static func isSpecial(_ path: String) -> Bool {
    guard let status = status(of: path) else { return false }
    return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
  }

  static func write(_ picture: borrowing FileDescriptor, to path: String, _ collision: Collision) throws(Problem)
    -> Outcome
  {
    var isReplaceable = true
    do throws(SystemFailure) {
      if isSpecial(path) {
        let target = try FileDescriptor(opening: path, O_WRONLY)
        try copy(picture, to: target.number, named: path)
      } else if collision == .replace {
        isReplaceable = try replace(path, by: picture)
      } else {
        try NewFile(beside: path).fill(from: picture).publish(as: path)
      }
    } catch {
      if error.errno == EEXIST, collision == .keep { return .kept }
      throw error.errno == EEXIST ? .exists(path) : .failed(error)
    }
    guard isReplaceable else { throw .foreign(path) }
    return .written
  }

  /// Replaces a file, or the one that a link leads to; false if only root could keep its owner.
  private static func replace(_ path: String, by picture: borrowing FileDescriptor) throws(SystemFailure) -> Bool {
    let target = try LinkTarget.of(path)
    guard let old = status(of: target) else {
      try NewFile(beside: target).fill(from: picture).publish(as: target)
      return true
    }
    // Until it has the mode of the old one, nobody else may read the new file.
    let file = try NewFile(beside: target, mode: 0o600).fill(from: picture)
    guard try file.takesOver(old) else { return false }
    try file.replace(target)
    return true
  }

  static func status(of path: String, followingLinks: Bool = true) -> stat? {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    let result = followingLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
    return result == 0 ? status : nil
  }

  static func copy(_ picture: borrowing FileDescriptor, to number: CInt, named name: String) throws(SystemFailure) {
    try read(picture) { bytes throws(SystemFailure) in try writeAll(bytes, to: number, named: name) }
  }

  /// Reads a whole picture from its beginning, whatever the file offset of its descriptor is.
  static func read(_ picture: borrowing FileDescriptor, _ body: ([UInt8]) throws(SystemFailure) -> Void)
    throws(SystemFailure)
  {
    var position = 0
    while true {
      let bytes = try picture.front(1 << 18, from: position, of: "the picture")
      if bytes.isEmpty { return }
      try body(bytes)
      position += bytes.count
    }
  }

  /// Writes all bytes to a descriptor, in as many calls as it needs.
  static func writeAll(_ bytes: [UInt8], to number: CInt, named name: String) throws(SystemFailure) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[written...])
        return unsafe Glibc.write(number, rest.baseAddress, rest.count)
      }
      guard count >= 0 || errno == EINTR else { throw SystemFailure("write", name) }
      written += max(count, 0)
    }
  }
}

/// A file under a temporary name, removed with this object unless it is given another name.
final class NewFile {
  private let temporary: String
  /// The path that messages name.
  private let path: String
  private let file: FileDescriptor
  private var isNamed = false

  /// Creates an empty file in the directory of `path`.
  init(beside path: String, mode: mode_t = 0o666) throws(SystemFailure) {
    let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
    temporary = path[..<cut] + ".imgctl-" + suffix + ".part"
    self.path = path
    // The path is a C string for the length of the call.
    let number = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard number >= 0 else { throw SystemFailure("create", path) }
    file = FileDescriptor(owning: number)
  }

  deinit { if !isNamed { unsafe unlink(temporary) } }

  func fill(from picture: borrowing FileDescriptor) throws(SystemFailure) -> NewFile {
    try OutputFile.copy(picture, to: file.number, named: path)
    return self
  }

  func fill(with bytes: [UInt8]) throws(SystemFailure) -> NewFile {
    try OutputFile.writeAll(bytes, to: file.number, named: path)
    return self
  }

  /// Gives the file a name that is still free; the failure is EEXIST if it is taken.
  func publish(as path: String) throws(SystemFailure) {
    // The paths are C strings for the length of each call.
    if unsafe link(temporary, path) == 0 { return }
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw SystemFailure("create", path) }
    // A file system without links: the name is claimed with an empty file, which is replaced at once.
    let claim = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard claim >= 0 else { throw SystemFailure("create", path) }
    close(claim)
    do throws(SystemFailure) { try replace(path) } catch {
      unsafe unlink(path)
      throw error
    }
  }

  func replace(_ path: String) throws(SystemFailure) {
    guard unsafe rename(temporary, path) == 0 else { throw SystemFailure("write", path) }
    isNamed = true
  }

  /// Gives the file the owner, group and mode of another one; false if only root may do that.
  func takesOver(_ old: stat) throws(SystemFailure) -> Bool {
    var own = stat()
    guard unsafe fstat(file.number, &own) == 0 else { throw SystemFailure("fstat", path) }
    if own.st_uid != old.st_uid || own.st_gid != old.st_gid, fchown(file.number, old.st_uid, old.st_gid) != 0 {
      return false
    }
    // Last, since a change of the owner clears the set-user and set-group bits.
    try file.setPermissions(old.st_mode & 0o7777, of: path)
    return true
  }
}

/// The file to which a chain of symbolic links leads, whether it exists or not.
enum LinkTarget {
  /// As many as the kernel follows.
  private static let mostLinks = 40

  static func of(_ path: String) throws(SystemFailure) -> String {
    var path = path
    for _ in 0..<mostLinks {
      guard let next = link(path) else { return path }
      let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
      path = next.hasPrefix("/") ? next : path[..<cut] + next
    }
    throw SystemFailure("open", path, errno: ELOOP)
  }

  /// The text of a link; nil if there is none.
  static func link(_ path: String) -> String? {
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { room, filled in
      // Fills at most the size of the buffer, whose bytes have the layout of characters of C.
      count = unsafe room.withMemoryRebound(to: CChar.self) { text in
        unsafe text.baseAddress.map { unsafe readlink(path, $0, text.count) } ?? 0
      }
      filled = max(count, 0)
    }
    return count > 0 ? String(decoding: bytes, as: UTF8.self) : nil
  }
}

enum NewDirectories {
  /// Makes a directory, unless it exists. Its parents are not made: a mistyped path is an error.
  static func make(_ path: String, mode: mode_t = 0o777) throws(SystemFailure) {
    // The path is a C string for the length of the call.
    guard unsafe mkdir(path, mode) != 0 else { return }
    let reason = errno
    if !isDirectory(path) { throw SystemFailure("mkdir", path, errno: reason == EEXIST ? ENOTDIR : reason) }
  }

  /// Makes the directories in a file's name, below a directory that exists.
  static func make(for name: String, below directory: String) throws(SystemFailure) {
    let bytes = Array(name.utf8)
    for end in bytes.indices where bytes[end] == UInt8(ascii: "/") {
      try make(directory + "/" + String(decoding: bytes[..<end], as: UTF8.self))
    }
  }

  static func isDirectory(_ path: String) -> Bool {
    OutputFile.status(of: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }
}
