import Glibc
package import ImgdSystem

extension DiskDirectory {
  /// Whether there is nothing at all in it, not even an index.
  var isEmpty: Bool { (try? shelves.names())?.isEmpty == true }

  /// Looks through one of the `Shelf.all` shelves; one that was never needed is empty.
  package func files(onShelf number: Int) throws(SystemFailure) -> Shelf {
    precondition((0..<Shelf.all).contains(number), "there is no such shelf")
    guard let directory = try shelves.shelf(number) else { return Shelf(pictures: [], foreign: 0) }
    var pictures: [(file: PictureFile, count: Int)] = []
    var foreign = 0
    for name in try directory.names() {
      if let file = PictureFile(name: name), file.shelf == number,
        let count = try pictureSize(name, in: directory)
      {
        pictures.append((file, count))
      } else {
        foreign += 1
      }
    }
    return Shelf(pictures: pictures, foreign: foreign)
  }

  /// How long a picture of ours is; nil for anything else, and for what has just gone.
  private func pictureSize(_ name: String, in directory: borrowing Directory)
    throws(SystemFailure) -> Int?
  {
    do {
      let status = try directory.status(of: name)
      return status.kind == .regular && status.owner == geteuid() ? status.size : nil
    } catch {
      guard error.errno == ENOENT else { throw error }
      return nil
    }
  }
}
