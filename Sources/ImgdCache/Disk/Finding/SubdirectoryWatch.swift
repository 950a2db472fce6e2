internal import ImgdSystem

/// Notices when files of the tier are touched by others.
///
/// A file that was found sound counts as sound until it or a directory above it is touched. So a
/// file that is lent a thousand times is looked at once, and yet no client gets the path of one that
/// has gone.
final class SubdirectoryWatch {
  enum Event {
    case touched(PictureFile)
    /// More than one file may be affected, or it is unknown which.
    case everything
  }

  private let directory: DiskDirectory
  private let watch: DirectoryWatch
  private var watched: Set<Int> = []
  private var areSubdirectories: Set<CInt> = []

  /// Nil if nothing can be watched: then every file is looked at every time.
  init?(_ directory: DiskDirectory) {
    // The index and the nameless files of new pictures lie in these directories, and it is we who write them.
    guard let watch = try? DirectoryWatch(), (try? watch.add(directory.path, noticesWriting: false)) != nil,
      (try? watch.add(directory.layoutPath, noticesWriting: false)) != nil
    else { return nil }
    self.directory = directory
    self.watch = watch
  }

  /// Watches a subdirectory from now on; false when that is impossible.
  func cover(_ subdirectory: Int) -> Bool {
    if watched.contains(subdirectory) { return true }
    let path = directory.layoutPath + "/" + Subdirectory.name(subdirectory)
    guard let number = try? watch.add(path) else { return false }
    watched.insert(subdirectory)
    areSubdirectories.insert(number)
    return true
  }

  /// What others have done to the files since the last call.
  func events() -> [Event] {
    watch.events().compactMap { event in
      // The daemon itself writes the index.
      if event.name?.hasPrefix("index.db") == true { return nil }
      guard let number = event.directory, areSubdirectories.contains(number), let name = event.name else {
        forget()
        return .everything
      }
      return PictureFile(name: name).map { .touched($0) }
    }
  }

  /// Forgets the subdirectories, which may have been replaced: each is watched again when it is needed.
  private func forget() {
    watched = []
    areSubdirectories = []
  }
}
