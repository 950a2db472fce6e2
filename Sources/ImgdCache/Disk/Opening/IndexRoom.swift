internal import ImgdSystem

/// Makes room for an index that cannot be opened on a full disk. Our own files may have taken the room, and nothing but an
/// index can tell which of them may go.
struct IndexRoom {
  /// As much as the log beside an index takes until it is carried over.
  private static let wanted = 4 << 20

  let directory: DiskDirectory

  /// Removes the index that was set aside, and then pictures, whichever they are; returns whether anything has gone.
  func make() -> Bool {
    var freed = IndexPlace.removeAside(path: directory.indexPath)
    let shelves = PictureShelves(directory.pictures)
    for number in 0..<Subdirectory.count where freed < Self.wanted {
      for file in (try? directory.pictures.contents(ofSubdirectory: number).pictures) ?? [] where freed < Self.wanted {
        freed += remove(file, from: shelves)
      }
    }
    return freed > 0
  }

  private func remove(_ file: PictureFile, from shelves: PictureShelves) -> Int {
    let status = try? FileStatus.of(path: directory.layoutPath + "/" + file.relativePath)
    guard (try? shelves.remove(file)) != nil else { return 0 }
    return status?.allocated ?? 0
  }
}
