// Anyone who may write to a socket's directory can put another file in the socket's place, between any two
// calls: a client would speak to another's daemon, and what the daemon does to the path would be done to
// another's file. So the directory must belong to the daemon's user or to root, and nobody else may
// write to it. A sticky directory such as /tmp is good enough: there everybody can make files, but only
// their owner can remove or rename them.

internal import Glibc

/// The directory in which a socket is made.
struct SocketDirectory {
  let path: String

  /// The directory of the socket at `path`.
  init(of path: String) {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    switch slash {
    case nil: self.path = "."
    case path.startIndex?: self.path = "/"
    case let slash?: self.path = String(path[..<slash])
    }
  }

  /// Makes the directory if it is missing; returns false if its parent is missing, too.
  func create() throws(SystemFailure) -> Bool {
    guard unsafe mkdir(path, 0o755) != 0, errno != EEXIST, errno != EISDIR else { return true }
    guard errno != ENOENT else { return false }
    throw SystemFailure("mkdir", path)
  }

  /// Why a socket would not be safe there; nil if it is.
  func danger() throws(SystemFailure) -> String? {
    // Links on the way are followed: /var/run is one.
    Self.danger(of: try FileStatus.of(path: path + "/."), at: path, for: geteuid())
  }

  static func danger(of status: FileStatus, at path: String, for user: UInt32) -> String? {
    guard status.owner == user || status.owner == 0 else {
      return "belongs to user \(status.owner), who could replace the socket: it must belong to "
        + "user \(user), who runs this daemon, or to root (chown \(user) \(path))"
    }
    let isSticky = status.permissions & 0o1000 != 0
    guard status.isWritableByOthers, !isSticky else { return nil }
    return "can be written to by others (mode 0\(String(status.permissions, radix: 8))), who could "
      + "replace the socket: only its owner may (chmod go-w \(path))"
  }
}
