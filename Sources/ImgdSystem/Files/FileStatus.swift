import Glibc

/// The status of one file at one moment.
package struct FileStatus: Sendable {
  /// The kind of a file.
  package enum Kind: Sendable { case regular, directory, link, other }

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
  /// The permission bits, with those for set-user, set-group and sticky.
  package let permissions: UInt32
  package let size: Int
  /// The bytes of its blocks.
  package let allocated: Int
  /// A number that differs after each change of the file, its permissions or its name, and from file to file;
  /// never 0.
  ///
  /// It is made from the inode and the time of its last change, which programs cannot set.
  package let stamp: UInt64

  package var isWritableByOthers: Bool { permissions & 0o022 != 0 }

  init(_ status: stat) {
    identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    kind = Self.kind(of: status.st_mode)
    owner = status.st_uid
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
