internal import ImgdSystem

/// Notices when files of the tier are touched by others.
///
/// A file that was found sound stays so until somebody has touched it or a directory that it lies
/// in. So a file that is lent a thousand times is looked at once, and yet nobody gets the path of
/// one that has gone.
final class ShelfWatch {
  enum News {
    case touched(PictureFile)
    /// More than one file may be concerned, or it is not known which.
    case everything
  }

  private let directory: DiskDirectory
  private let watch: DirectoryWatch
  private var shelves: [Int: CInt] = [:]
  private var racks: Set<Int> = []
  private var areShelves: Set<CInt> = []

  /// Nil where nothing can be watched: then every file is looked at every time.
  init?(_ directory: DiskDirectory) {
    guard let watch = try? DirectoryWatch(), (try? watch.add(directory.path)) != nil,
      (try? watch.add(directory.shelvesPath)) != nil
    else { return nil }
    self.directory = directory
    self.watch = watch
  }

  /// Watches a shelf from now on; false when it cannot be.
  func cover(_ shelf: Int) -> Bool {
    if shelves[shelf] != nil { return true }
    let rack = shelf >> 8
    if !racks.contains(rack) {
      guard (try? watch.add(directory.path(ofRack: shelf))) != nil else { return false }
      racks.insert(rack)
    }
    guard let number = try? watch.add(directory.path(ofShelf: shelf)) else { return false }
    shelves[shelf] = number
    areShelves.insert(number)
    return true
  }

  /// What others have done since the last time.
  func news() -> [News] {
    watch.events().compactMap { event in
      // That is our own writing.
      if event.name?.hasPrefix("index.db") == true { return nil }
      guard let number = event.directory, areShelves.contains(number), let name = event.name else {
        forget()
        return .everything
      }
      return PictureFile(name: name).map { .touched($0) }
    }
  }

  /// Directories may have been replaced: each is watched anew when it is needed.
  private func forget() {
    shelves = [:]
    racks = []
    areShelves = []
  }
}
