import Glibc
import ImgdSystem

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

  /// Writes a whole picture into the file.
  func fill(from picture: borrowing FileDescriptor) throws(SystemFailure) -> NewFile {
    try OutputFile.copy(picture, to: file.number, named: path)
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

  /// Takes the place of a file.
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

  private static func link(_ path: String) -> String? {
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
