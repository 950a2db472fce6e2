// The directory that the disk tier lives in.
//
// The files in it are handed out as pictures, so no other user may be able to put anything there: the
// directory must be ours and not writable by others, and it is opened once and held open. Everything
// below it is reached through that descriptor, following no link. A foreign thing in the place
// of something of ours is renamed to NAME.aside-1 and not looked at further; only somebody who may
// write to the directory itself could have put it there.
//
//     DIRECTORY/lock            the right to use it, with the holder's process id
//     DIRECTORY/1/              this layout; another version's directory is left as it is
//     DIRECTORY/1/index.db      the index file
//     DIRECTORY/1/ab/abc….jpg   the pictures, in 256 subdirectories
//
// Nothing is synced: after a power loss a picture may be missing, or incomplete, which its length and
// checksum reveal.

internal import ImgdSystem

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
  private let identities: [FileStatus.Identity]

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

  /// The path of this layout's directory, which has the subdirectories.
  var layoutPath: String { path + "/" + Self.layout }

  /// The path of the index file.
  package var indexPath: String { layoutPath + "/index.db" }

  /// Whether the paths still lead to the open directories, which is false once they were removed or
  /// moved away.
  package func isInPlace() -> Bool { [path, layoutPath].map { try? FileStatus.of(path: $0).identity } == identities }
}
