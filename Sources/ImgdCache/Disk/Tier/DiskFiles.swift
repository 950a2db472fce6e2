/// Finds the files of entries in the directory that is open.
final class DiskFiles {
  /// The open directory; nil while there is none that can be used.
  private(set) var directory: DiskDirectory?
  /// The text with which all paths begin; all images share one copy of it.
  private var layoutPath = ""

  private let index: DiskIndex
  private let threads: DiskThreads
  /// The endings of file names, by the number of the format.
  private let suffixes: [String]

  init(index: DiskIndex, threads: DiskThreads, suffixes: [String]) {
    self.index = index
    self.threads = threads
    self.suffixes = suffixes
  }

  var isOpen: Bool { directory != nil }

  func enter(_ directory: DiskDirectory) {
    self.directory = directory
    layoutPath = directory.layoutPath
  }

  func leave() { directory = nil }

  func suffix(of facts: ImageFacts) -> String { suffixes[Int(facts.format)] }

  /// Whether a picture has a format of this version; a later version may have stored others.
  func knows(_ facts: ImageFacts) -> Bool { suffixes.indices.contains(Int(facts.format)) }

  func file(of entry: DiskEntry) -> PictureFile? {
    PictureFile(digest: entry.digest, number: entry.number, suffix: suffix(of: entry.facts))
  }

  func path(of entry: DiskEntry) -> String? {
    guard directory != nil, let file = file(of: entry) else { return nil }
    return file.path(in: layoutPath)
  }

  func name(of entry: DiskEntry) -> String { file(of: entry)?.name ?? entry.digest.hex }

  /// What the image of an entry keeps of its file.
  func stored(_ entry: DiskEntry, at place: Int) -> StoredFile? {
    guard directory != nil, let file = file(of: entry) else { return nil }
    return StoredFile(file, in: layoutPath, place: place, generation: threads.generation)
  }

  /// Whether the entry of a file that an image has kept is still there.
  func holds(_ file: StoredFile) -> Bool {
    file.generation == threads.generation && index.holds(file.number, at: file.place)
  }

  /// The entry of a file that an image has kept, if it is still there.
  func entry(of file: StoredFile) -> DiskEntry? {
    file.generation == threads.generation ? index.entry(at: file.place, number: file.number) : nil
  }
}
