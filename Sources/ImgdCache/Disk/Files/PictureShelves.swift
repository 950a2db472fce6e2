import Glibc
package import ImgdSystem

/// The subdirectories that the writer has open, in which it gives files their names and removes them.
///
/// Each is looked up once, and not for every picture. All are looked up anew when somebody else may have
/// changed the directories, since a path may lead elsewhere then.
package final class PictureShelves {
  private final class Shelf {
    let directory: Directory
    init(_ directory: consuming Directory) { self.directory = directory }
  }

  private let pictures: PictureDirectory
  private var shelves = [Shelf?](repeating: nil, count: Subdirectory.count)
  /// The number of disturbances when they were opened.
  private var disturbanceCount: UInt32 = 0

  package init(_ pictures: PictureDirectory) { self.pictures = pictures }

  func letGo() { for number in shelves.indices { shelves[number] = nil } }

  /// Gives a file its name; a name that is taken is not replaced (`EEXIST`).
  package func link(_ prepared: borrowing PreparedFile, as file: PictureFile) throws(SystemFailure) {
    if let shelf = known(file.subdirectory) {
      do throws(SystemFailure) { return try shelf.directory.link(prepared.descriptor, as: file.name) } catch {
        // The subdirectory was removed.
        guard error.errno == ENOENT else { throw error }
      }
    }
    let shelf = Shelf(try pictures.claim(file.subdirectory))
    keep(shelf, as: file.subdirectory)
    try shelf.directory.link(prepared.descriptor, as: file.name)
  }

  /// Removes a picture; it is no error if the picture is already gone.
  func remove(_ file: PictureFile) throws(SystemFailure) {
    guard let shelf = try find(file.subdirectory) else { return }
    do { try shelf.directory.remove(file.name) } catch {
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

  /// Keeps a subdirectory open unless descriptors are short: then others need them more.
  private func keep(_ shelf: Shelf, as number: Int) { shelves[number] = shelf.directory.takesReserve ? nil : shelf }
}
