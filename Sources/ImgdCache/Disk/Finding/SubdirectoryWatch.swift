internal import ImgdSystem

/// Notices when files of the tier are touched by others.
///
/// A file that was found sound stays so until it or a directory that it lies in is touched. So a
/// file that is lent a thousand times is looked at once, and yet no client gets the path of one that
/// has gone.
final class SubdirectoryWatch {
  enum Event {
    case touched(PictureFile)
    /// More than one file may be concerned, or it is not known which.
    case everything
  }

  private let directory: DiskDirectory
  private let watch: DirectoryWatch
  private var watched: [Int: CInt] = [:]
  private var parents: Set<Int> = []
  private var areSubdirectories: Set<CInt> = []

  /// Nil where nothing can be watched: then every file is looked at every time.
  init?(_ directory: DiskDirectory) {
    guard let watch = try? DirectoryWatch(), (try? watch.add(directory.path)) != nil,
      (try? watch.add(directory.layoutPath)) != nil
    else { return nil }
    self.directory = directory
    self.watch = watch
  }

  /// Watches a subdirectory from now on; false when it cannot be.
  func cover(_ subdirectory: Int) -> Bool {
    if watched[subdirectory] != nil { return true }
    let parent = subdirectory >> 8
    if !parents.contains(parent) {
      guard (try? watch.add(path(Subdirectory.parent(subdirectory)))) != nil else { return false }
      parents.insert(parent)
    }
    guard let number = try? watch.add(path(Subdirectory.path(subdirectory))) else { return false }
    watched[subdirectory] = number
    areSubdirectories.insert(number)
    return true
  }

  /// All that others have done since the last time.
  func events() -> [Event] {
    watch.events().compactMap { event in
      // The daemon itself writes the index.
      if event.name?.hasPrefix("index.db") == true { return nil }
      guard let number = event.directory, areSubdirectories.contains(number), let name = event.name
      else {
        forget()
        return .everything
      }
      return PictureFile(name: name).map { .touched($0) }
    }
  }

  private func path(_ below: String) -> String { directory.layoutPath + "/" + below }

  /// Directories may have been replaced: each is watched anew when it is needed.
  private func forget() {
    watched = [:]
    parents = []
    areSubdirectories = []
  }
}
