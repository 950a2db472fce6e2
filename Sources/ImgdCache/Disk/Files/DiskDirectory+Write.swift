import Glibc
package import ImgdSystem

/// A picture's bytes in a file that has no name yet; without `link` it is gone with its owner.
package struct PreparedFile: ~Copyable, Sendable {
  fileprivate let descriptor: FileDescriptor
  package let count: Int
  /// The bytes that its blocks take.
  package let allocated: Int
}

extension DiskDirectory {
  /// Writes a picture to a file without a name.
  package func prepare(_ payload: Payload) throws(SystemFailure) -> PreparedFile {
    let file = try shelves.makeUnnamedFile(permissions: Self.filePermissions)
    try payload.copy(to: file)
    let allocated = try file.status("an unnamed file").allocated
    return PreparedFile(descriptor: file, count: payload.count, allocated: allocated)
  }

  /// Gives the file its name; one that is taken stays what it is (`EEXIST`).
  package func link(_ prepared: borrowing PreparedFile, as file: PictureFile)
    throws(SystemFailure)
  {
    let shelf =
      if let shelf = try shelves.shelf(file.shelf) { shelf } else { try claimShelf(file.shelf) }
    try shelf.link(prepared.descriptor, as: file.name)
  }

  private func claimShelf(_ number: Int) throws(SystemFailure) -> Directory {
    try shelves.claim(Shelf.rack(number)).claim(String(Shelf.path(number).suffix(2)))
  }

  /// Removes a picture; that it is not there any more is as good.
  package func remove(_ file: PictureFile) throws(SystemFailure) {
    guard let shelf = try shelves.shelf(file.shelf) else { return }
    do {
      try shelf.remove(file.name)
    } catch {
      switch error.errno {
      case ENOENT: return
      case EISDIR: try shelf.setAside(file.name)  // not ours, and there may be things in it
      default: throw error
      }
    }
  }
}
