import Glibc
package import ImgdSystem

/// The subdirectories that the writer has open, in which files get their names and lose them.
///
/// Each is looked up once, and not for every picture; all anew when somebody else may have changed the
/// directories, since a path may lead elsewhere then.
package final class PictureShelves {
  private final class Shelf {
    let directory: Directory
    init(_ directory: consuming Directory) { self.directory = directory }
  }

  private let pictures: PictureDirectory
  private var shelves = [Shelf?](repeating: nil, count: Subdirectory.count)
  /// The disturbances until they were opened.
  private var disturbanceCount: UInt32 = 0

  package init(_ pictures: PictureDirectory) {
    self.pictures = pictures
  }

  func letGo() {
    for number in shelves.indices { shelves[number] = nil }
  }

  /// Gives a file its name; one that is taken stays what it is (`EEXIST`).
  package func link(_ prepared: borrowing PreparedFile, as file: PictureFile) throws(SystemFailure)
  {
    if let shelf = known(file.subdirectory) {
      do throws(SystemFailure) {
        return try shelf.directory.link(prepared.descriptor, as: file.name)
      } catch {
        // It was removed.
        guard error.errno == ENOENT else { throw error }
      }
    }
    let shelf = Shelf(try pictures.claim(file.subdirectory))
    keep(shelf, as: file.subdirectory)
    try shelf.directory.link(prepared.descriptor, as: file.name)
  }

  /// Removes a picture; one that is not there any more is as good.
  func remove(_ file: PictureFile) throws(SystemFailure) {
    guard let shelf = try find(file.subdirectory) else { return }
    do {
      try shelf.directory.remove(file.name)
    } catch {
      switch error.errno {
      case ENOENT: return
      case EISDIR: try shelf.directory.setAside(file.name)  // not ours, things may be in it
      default: throw error
      }
    }
  }

  private func known(_ number: Int) -> Shelf? {
    let count = pictures.disturbanceCount
    if count != disturbanceCount { letGo() }
    disturbanceCount = count
    return shelves[number]
  }

  private func find(_ number: Int) throws(SystemFailure) -> Shelf? {
    if let shelf = known(number) { return shelf }
    guard let found = try pictures.subdirectory(number) else { return nil }
    let shelf = Shelf(found)
    keep(shelf, as: number)
    return shelf
  }

  /// Where descriptors are short they are there for others.
  private func keep(_ shelf: Shelf, as number: Int) {
    shelves[number] = shelf.directory.takesReserve ? nil : shelf
  }
}
