// The directory that the disk tier lives in.
//
// What lies in it is handed out as a picture, so nobody else may be able to put anything there: the
// directory must be ours and closed to the writing of others, and it is opened once and held. All
// that happens below goes through that descriptor, following no link. What stands where something
// of ours belongs, and is not ours, is renamed to NAME.aside-1 and looked at no further; only the
// right to write into the directory itself could have put it there.
//
//     DIRECTORY/lock            the right to use it, with the holder's process id
//     DIRECTORY/1/              this layout; another version's directory is left as it is
//     DIRECTORY/1/index.db      the index file
//     DIRECTORY/1/a/bc/abc….jpg the pictures, on 16 × 256 shelves
//
// Nothing is synced: after a power loss a picture may be missing, and its length and checksum tell
// when it is not whole.

package import ImgdSystem
import Glibc

/// The directory of the disk tier, checked, held open and locked.
package final class DiskDirectory: Sendable {
  /// The version of what the directory holds and how: its own directory, and a part of each digest.
  static let layout = "1"

  /// The group reads the pictures, whatever the process's mask.
  static let directoryPermissions: UInt32 = 0o750
  static let filePermissions: UInt32 = 0o640

  /// The directory as it was named, without slashes at its end.
  package let path: String
  let base: Directory
  let shelves: Directory
  private let lock: ProcessLock
  private let identities: [FileStatus.Identity]

  private init(
    base: consuming Directory, shelves: consuming Directory, lock: consuming ProcessLock,
    identities: [FileStatus.Identity]
  ) {
    path = base.path
    self.base = base
    self.shelves = shelves
    self.lock = lock
    self.identities = identities
  }

  /// Opens the directory at an absolute path; it is made if it is missing, and its parent too.
  ///
  /// No other process gets it until this one lets go.
  package static func open(_ path: String) throws(DirectoryProblem) -> DiskDirectory {
    let base = try DirectoryOpening.base(path)
    let lock = try DirectoryOpening.lock(in: base)
    let shelves = try DirectoryOpening.layout(in: base)
    do {
      let identities = [try base.status().identity, try shelves.status().identity]
      return DiskDirectory(base: base, shelves: shelves, lock: lock, identities: identities)
    } catch { throw .unavailable(error) }
  }

  private var layoutPath: String { path + "/" + Self.layout }

  /// Where the shelves are.
  var shelvesPath: String { layoutPath }

  func path(ofShelf shelf: Int) -> String { layoutPath + "/" + Shelf.path(shelf) }

  /// The directory that holds a shelf.
  func path(ofRack shelf: Int) -> String { layoutPath + "/" + Shelf.rack(shelf) }

  /// Where the index file belongs.
  package var indexPath: String { layoutPath + "/index.db" }

  /// The path under which a picture may be handed out.
  package func path(of file: PictureFile) -> String { layoutPath + "/" + file.relativePath }

  /// Whether the paths still lead to the directories that are open; not after they were removed or
  /// moved away.
  package func isInPlace() -> Bool {
    [path, layoutPath].map { try? FileStatus.of(path: $0).identity } == identities
  }

  /// The bytes that may still be written to the file system, and all it has.
  package func freeSpace() throws(SystemFailure) -> (free: Int, total: Int) {
    try shelves.space()
  }
}
