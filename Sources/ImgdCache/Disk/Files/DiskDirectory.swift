// The directory that the disk tier lives in.
//
// The files in it are handed out as pictures, so no other user may be able to put anything there: the directory must
// be ours and not writable by others, and it is opened once and held open. Everything below it is reached through
// that descriptor, following no link. A foreign thing in the place of something of ours is renamed to NAME.aside-1
// and not looked at further; only somebody who may write to the directory itself could have put it there.
//
//     DIRECTORY/lock            the right to use it, with the holder's process id
//     DIRECTORY/1/              this layout; another version's directory is left as it is
//     DIRECTORY/1/index.db      the index file
//     DIRECTORY/1/ab/abc….jpg   the pictures, in 256 subdirectories
//
// Nothing is synced: after a power loss a picture may be missing, or incomplete, which its length and
// checksum reveal.

import Glibc
package import ImgdSystem

/// The directory of the disk tier, checked, held open and locked.
package final class DiskDirectory: Sendable {
  /// The version of the directory's layout. It names a subdirectory, and is part of each digest.
  static let layout = "1"

  /// The group may read the pictures, whatever the umask of the process.
  static let directoryPermissions: UInt32 = 0o750
  static let filePermissions: UInt32 = 0o640

  /// The directory's path as it was given, without trailing slashes.
  package let path: String
  package let pictures: PictureDirectory
  private let base: Directory
  private let lock: ProcessLock
  /// Of the directory, and of its layout.
  let identities: [FileStatus.Identity]

  private init(
    base: consuming Directory, pictures: PictureDirectory, lock: consuming ProcessLock,
    identities: [FileStatus.Identity]
  ) {
    path = base.path
    self.base = base
    self.pictures = pictures
    self.lock = lock
    self.identities = identities
  }

  /// Opens the directory at an absolute path; it is made if it is missing, and its parent too.
  ///
  /// No other process can open it until this one lets go of it.
  package static func open(_ path: String) throws(DirectoryProblem) -> DiskDirectory {
    let base = try DirectoryOpening.base(path)
    let lock = try DirectoryOpening.lock(in: base)
    let pictures = PictureDirectory(try DirectoryOpening.layout(in: base))
    do {
      let identities = [try base.status().identity, try pictures.identity()]
      return DiskDirectory(base: base, pictures: pictures, lock: lock, identities: identities)
    } catch { throw .unavailable(error) }
  }

  var layoutPath: String { path + "/" + Self.layout }

  package var indexPath: String { layoutPath + "/index.db" }

  /// Whether the paths still lead to the open directories, which is false once they were removed or moved away.
  package func isInPlace() -> Bool { [path, layoutPath].map { try? FileStatus.of(path: $0).identity } == identities }
}

/// The steps of opening a directory for the disk tier.
///
/// Nothing that an operator has set up is changed behind their back: a directory that cannot be
/// trusted is refused, with a message that says what would be right.
enum DirectoryOpening {
  static func base(_ path: String) throws(DirectoryProblem) -> Directory {
    let path = try plain(path)
    try available(try makeIfMissing(path))
    let kind = try available(try FileStatus.of(path: path).kind)
    if let reason = whyNotADirectory(kind) { throw .unsafe(path: path, reason: reason) }
    let base = try available(try Directory(path: path))
    try refuseUnlessOurs(base)
    return base
  }

  static func lock(in base: borrowing Directory) throws(DirectoryProblem) -> ProcessLock {
    switch try available(try ProcessLock.acquire("lock", in: base)) {
    case .held(let lock): return lock
    case .taken(let pid): throw .taken(path: base.path, pid: pid)
    case .notAFile:
      throw .unsafe(path: base.path + "/lock", reason: "is not a regular file: it must be one, or missing")
    }
  }

  static func layout(in base: borrowing Directory) throws(DirectoryProblem) -> Directory {
    let layout = try available(try base.claim(DiskDirectory.layout))
    try refuseUnlessOurs(layout)
    return layout
  }

  /// The path without trailing slashes: with one, a link would be followed.
  private static func plain(_ path: String) throws(DirectoryProblem) -> String {
    guard path.utf8.first == UInt8(ascii: "/") else {
      throw .unsafe(path: "'\(path)'", reason: "is not an absolute path: begin with /")
    }
    guard !path.utf8.contains(0) else { throw .unsafe(path: "'\(path)'", reason: "has a zero byte in it: no path has") }
    var end = path.endIndex
    while path[..<end].utf8.count > 1, path[..<end].utf8.last == UInt8(ascii: "/") {
      end = path.utf8.index(before: end)
    }
    return String(path[..<end])
  }

  private static func makeIfMissing(_ path: String) throws(SystemFailure) {
    do { _ = try FileStatus.of(path: path) } catch {
      guard error.errno == ENOENT else { throw error }
      let parent = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
      let permissions = DiskDirectory.directoryPermissions
      if !parent.isEmpty, unsafe access(parent, F_OK) != 0 { try Directory.make(parent, permissions: permissions) }
      try Directory.make(path, permissions: permissions)
    }
  }

  private static func whyNotADirectory(_ kind: FileStatus.Kind) -> String? {
    switch kind {
    case .directory: nil
    case .link: "is a symbolic link; name the directory that it leads to"
    case .regular, .pipe, .socket, .device, .other: "is not a directory; name one, or a path where one can be made"
    }
  }

  private static func refuseUnlessOurs(_ directory: borrowing Directory) throws(DirectoryProblem) {
    let status = try available(try directory.status())
    let path = directory.path
    guard status.owner == geteuid() else {
      throw .unsafe(
        path: path,
        reason: "belongs to user \(status.owner): it must belong to user \(geteuid()), who runs "
          + "this daemon (chown \(geteuid()) \(path))")
    }
    guard !status.isWritableByOthers else {
      throw .unsafe(
        path: path,
        reason: "can be written to by others (mode 0\(String(status.permissions, radix: 8))): only its owner "
          + "may (chmod go-w \(path))")
    }
  }
}

private func available<R: ~Copyable>(_ step: @autoclosure () throws(SystemFailure) -> R) throws(DirectoryProblem) -> R {
  do { return try step() } catch { throw .unavailable(error) }
}

extension Directory {
  /// Opens the directory of a name. It is made if it is missing, and anything else in its place is set aside.
  func claim(_ name: String) throws(SystemFailure) -> Directory {
    if let found = try find(name) {
      if try found.status().owner == geteuid() { return found }
      try setAside(name)
    }
    return try make(name, permissions: DiskDirectory.directoryPermissions)
  }

  /// The directory of a name, or nil when the name is free or has just been freed.
  private func find(_ name: String) throws(SystemFailure) -> Directory? {
    do { return try directory(name) } catch {
      switch error.errno {
      case ENOENT: return nil
      case ENOTDIR, ELOOP: try setAside(name)
      default: throw error
      }
    }
    return nil
  }
}

/// Why the disk tier cannot use a directory.
package enum DirectoryProblem: Error, Sendable, CustomStringConvertible {
  /// Another process holds it; `pid` is nil if it is unknown which.
  case taken(path: String, pid: Int32?)
  /// Others could replace pictures there, or it is not a directory at all.
  case unsafe(path: String, reason: String)
  case unavailable(SystemFailure)

  /// What is wrong and, after a semicolon, what would be right.
  package var description: String {
    switch self {
    case .taken(let path, let pid?):
      "\(path) is used by another daemon, process \(pid): give each a directory of its own"
    case .taken(let path, nil): "\(path) is used by another daemon: give each a directory of its own"
    case .unsafe(let path, let reason): "\(path) \(reason)"
    case .unavailable(let failure):
      Self.remedy(for: failure).map { "\(failure.description); \($0)" } ?? failure.description
    }
  }

  /// Whether this process lacks a right, rather than the disk failing.
  var isExclusion: Bool {
    guard case .unavailable(let failure) = self else { return false }
    return [EROFS, EACCES, EPERM].contains(failure.errno)
  }

  private static func remedy(for failure: SystemFailure) -> String? {
    let making = "install -d -o \(geteuid()) -g \(getegid()) -m 750 \(failure.subject)"
    switch failure.errno {
    case EROFS:
      return "a service of systemd can write where its unit says, and nowhere else: " + "ReadWritePaths=, see imgd(8)"
    case EACCES, EPERM: return "let the user who runs imgd into the directories above it, and as root: \(making)"
    case ENOENT, ENOTDIR: return "name another directory in Disk.Directory="
    default: return nil
    }
  }
}
