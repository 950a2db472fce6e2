// A socket in the file system that only this process serves. A socket file outlives the process that bound it, and
// does not show whether any process still listens. So the right to serve a path is a lock on `PATH.lock`, which the
// kernel releases when its holder ends: only the holder may remove a stale socket. A live daemon that does not use
// the lock is found by connecting to it: a socket that refuses is stale; after any other answer it is left alone.
//
// An inherited socket belongs to the service manager, with its file: it is neither locked nor removed, nor shut down,
// so that clients that connect meanwhile wait in its queue for the next process.

internal import CLinux
import Glibc

/// The reason why a path cannot be served.
package enum ListenProblem: Error, CustomStringConvertible {
  case taken(path: String)
  case notASocket(path: String)
  case pathTooLong(path: String, limit: Int)
  /// The parent of the socket's directory is missing; only the last directory is created.
  case noPlace(path: String)
  /// Others could put another file in the socket's place.
  case exposed(directory: String, reason: String)
  /// The inherited descriptor is no listening socket.
  case notListening(descriptor: CInt)
  /// Programs on other machines could connect to this address, which is not wanted.
  case notLoopback(address: String)
  /// The inherited descriptor is no listening socket, or one that other machines can reach and must not.
  case notLocal(descriptor: CInt)
  case system(SystemFailure)

  package var description: String {
    switch self {
    case .taken(let path): "\(path) is served by another daemon that is running"
    case .notASocket(let path): "\(path) exists and is not a socket; it is left as it is"
    case .pathTooLong(let path, let limit):
      "the socket path \(path) has \(path.utf8.count) bytes; Linux takes at most \(limit)"
    case .noPlace(let path):
      "no socket can be made at \(path): create its directories, or give another path with --socket"
    case .exposed(let directory, let reason): "the socket's directory \(directory) \(reason)"
    case .notListening(let descriptor):
      "the inherited descriptor \(descriptor) is not a listening Unix stream socket; "
        + "the socket unit needs ListenStream= with a path"
    case .notLoopback(let address): "\(address) is not an address of this machine alone: use one of 127.0.0.0/8, or ::1"
    case .notLocal(let descriptor):
      "the inherited descriptor \(descriptor) is neither a listening Unix stream socket nor one at a "
        + "loopback address; the socket unit needs ListenStream= with a path, or with 127.0.0.1:PORT, "
        + "or the configuration HTTP-Gateway.Expose=yes"
    case .system(let failure): failure.description
    }
  }
}

/// A socket at a path of the file system, bound and listened on under a lock of its own.
package final class UnixListener {
  /// `sun_path` holds 108 bytes, one of them the terminating zero.
  private static let longestPath = 107

  package let path: String
  package let socket: ListeningSocket
  private let lock: FileDescriptor?
  /// The socket file, removed when this listener closes; nil when it is inherited.
  private let identity: FileStatus.Identity?
  private let isInherited: Bool

  /// Makes the directory of `path` if it is missing, binds `path` for owner and group (0660), and listens.
  package init(path: String) throws(ListenProblem) {
    guard path.utf8.count <= Self.longestPath else { throw .pathTooLong(path: path, limit: Self.longestPath) }
    self.path = path
    isInherited = false
    let lock: FileDescriptor
    try Self.prepareDirectory(of: path)
    do throws(SystemFailure) {
      lock = try FileDescriptor(opening: path + ".lock", O_RDWR | O_CREAT | O_NOFOLLOW)
    } catch { throw .system(error) }
    guard linux_lock_exclusive(lock.number) == 0 else {
      throw errno == EWOULDBLOCK ? .taken(path: path) : .system(SystemFailure("flock", path))
    }
    self.lock = consume lock
    try Self.removeStale(path)
    do throws(SystemFailure) {
      socket = try ListeningSocket(try Self.bind(path))
      identity = try FileStatus.of(path: path).identity
    } catch { throw .system(error) }
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt) throws(ListenProblem) {
    guard let path = Self.listeningPath(of: number) else { throw .notListening(descriptor: number) }
    self.path = path
    isInherited = true
    lock = nil
    identity = nil
    do throws(SystemFailure) { socket = try ListeningSocket(adopting: number) } catch { throw .system(error) }
  }

  /// Closing would not be enough: a program that is just being started has a copy of the descriptor.
  deinit {
    switch lock {
    case .some(let lock): _ = linux_unlock(lock.number)
    case nil: break
    }
  }

  /// Stops listening and removes the socket file, unless another file has its name by now. Connections
  /// in the queue can still be accepted, by this process only; an inherited socket stays with its queue
  /// for the next process. Returns whether the queue is this process's.
  @discardableResult package func close() -> Bool {
    guard !isInherited else { return false }
    if let identity, identity == (try? FileStatus.of(path: path).identity) { unsafe unlink(path) }
    socket.stopListening()
    return true
  }

  package var number: CInt { socket.number }

  /// Takes the next client out of the queue, without waiting.
  package func accept() -> ListeningSocket.Arrival { socket.accept() }

  /// Reserves a descriptor again, after a client beyond the limit was closed.
  package func restoreReserve() { socket.restoreReserve() }

  private static func listeningPath(of number: CInt) -> String? {
    var length = -1
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 256) { room, filled in
      // Fills no more than the buffer's own capacity.
      length = unsafe linux_listening_path(number, room.baseAddress, room.count)
      filled = max(length, 0)
    }
    return length > 0 ? String(decoding: bytes, as: UTF8.self) : nil
  }

  // MARK: Binding

  private static func prepareDirectory(of path: String) throws(ListenProblem) {
    guard !path.isEmpty else { return }  // bind reports that
    let directory = SocketDirectory(of: path)
    let (isThere, danger): (Bool, String?)
    do throws(SystemFailure) {
      isThere = try directory.create()
      danger = isThere ? try directory.danger() : nil
    } catch { throw .system(error) }
    guard isThere else { throw .noPlace(path: path) }
    if let danger { throw .exposed(directory: directory.path, reason: danger) }
  }

  private static func removeStale(_ path: String) throws(ListenProblem) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
    switch try answer(of: path) {
    case 0, EAGAIN: throw .taken(path: path)
    case ECONNREFUSED: unsafe unlink(path)
    case let code: throw .system(SystemFailure("connect", path, errno: code))
    }
  }

  /// The result of connecting to `path`: 0 or the error.
  private static func answer(of path: String) throws(ListenProblem) -> CInt {
    let number = linux_unix_socket()
    guard number >= 0 else { throw .system(SystemFailure("socket")) }
    let probe = FileDescriptor(owning: number)
    return unsafe linux_connect_unix(probe.number, path) == 0 ? 0 : errno
  }

  private static func bind(_ path: String) throws(SystemFailure) -> FileDescriptor {
    let socket = try FileDescriptor(returned: linux_unix_socket(), by: "socket")
    // The file gets the mode that the socket has when it is bound, less the mask. It is never changed by its path,
    // which may lead elsewhere by then. At this time there are no other threads to mind the mask.
    guard fchmod(socket.number, 0o660) == 0 else { throw SystemFailure("fchmod", path) }
    let mask = umask(0)
    let outcome = unsafe linux_bind_unix(socket.number, path)
    let code = errno
    umask(mask)
    guard outcome == 0 else { throw SystemFailure("bind", path, errno: code) }
    guard listen(socket.number, SOMAXCONN) == 0 else { throw SystemFailure("listen", path) }
    return socket
  }
}

// Anyone who may write to a socket's directory can put another file in the socket's place, between any two calls: a
// client would speak to another's daemon, and what the daemon does to the path would be done to another's file. So
// the directory must belong to the daemon's user or to root, and nobody else may write to it. A sticky directory such
// as /tmp is good enough: there everybody can make files, but only their owner can remove or rename them.

struct SocketDirectory {
  let path: String

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
