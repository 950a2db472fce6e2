import Glibc
internal import ImgdSystem

/// The steps of opening a directory for the disk tier.
///
/// Nothing that an operator has set up is changed behind their back: a directory that cannot be
/// trusted is refused, with a message that says what would be right.
enum DirectoryOpening {
  /// Opens the directory itself.
  static func base(_ path: String) throws(DirectoryProblem) -> Directory {
    let path = try plain(path)
    try available(try makeIfMissing(path))
    let kind = try available(try FileStatus.of(path: path).kind)
    if let reason = whyNotADirectory(kind) { throw .unsafe(path: path, reason: reason) }
    let base = try available(try Directory(path: path))
    try refuseUnlessOurs(base)
    return base
  }

  /// Takes the lock that gives the right to use the directory.
  static func lock(in base: borrowing Directory) throws(DirectoryProblem) -> ProcessLock {
    switch try available(try ProcessLock.acquire("lock", in: base)) {
    case .held(let lock): return lock
    case .taken(let pid): throw .taken(path: base.path, pid: pid)
    case .notAFile:
      throw .unsafe(path: base.path + "/lock", reason: "is not a regular file: it must be one, or missing")
    }
  }

  /// Opens the directory of this layout, making it if need be.
  static func layout(in base: borrowing Directory) throws(DirectoryProblem) -> Directory {
    let layout = try available(try base.claim(DiskDirectory.layout))
    try refuseUnlessOurs(layout)
    return layout
  }

  // MARK: The path

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
      if !parent.isEmpty, unsafe access(parent, F_OK) != 0 { try make(parent) }
      try make(path)
    }
  }

  private static func make(_ path: String) throws(SystemFailure) {
    try Directory.make(path, permissions: DiskDirectory.directoryPermissions)
  }

  // MARK: Trust

  private static func whyNotADirectory(_ kind: FileStatus.Kind) -> String? {
    switch kind {
    case .directory: nil
    case .link: "is a symbolic link; name the directory that it leads to"
    case .regular, .other: "is not a directory; name one, or a path where one can be made"
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
        reason: "can be written to by others (mode \(octal(status.permissions))): only its owner "
          + "may (chmod go-w \(path))")
    }
  }

  private static func octal(_ permissions: UInt32) -> String { "0" + String(permissions, radix: 8) }
}

/// Runs a step whose failure means that the directory cannot be used now.
private func available<R: ~Copyable>(_ step: @autoclosure () throws(SystemFailure) -> R) throws(DirectoryProblem) -> R {
  do { return try step() } catch { throw .unavailable(error) }
}
