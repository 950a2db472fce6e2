internal import ImgdSystem

/// Compares the files in the directory with their rows in the background, after a stop that was not clean.
final class DirectoryCheck: DiskPart {
  private static let subdirectoriesAtOnce = 2

  /// Whether every file is known to have its row, and every row its file.
  private(set) var isDone = false
  private(set) var wasNeeded = false

  /// Begins with a directory; after a clean stop there is nothing to do.
  func begin(wasClean: Bool) {
    isDone = wasClean
    wasNeeded = !wasClean
    if !wasClean { compare(from: 0) }
  }

  private func compare(from number: Int) {
    guard number < Subdirectory.count else {
      isDone = true
      return
    }
    let end = min(number + Self.subdirectoriesAtOnce, Subdirectory.count)
    threads.order(
      { (disk) throws(DiskTrouble) in try DirectoryComparison(disk: disk).compare(number..<end) },
      then: { [unowned self] lost in
        guard let lost else { return }
        for match in lost { index.remove(match.digest, number: match.number) }
        compare(from: end)
      })
  }
}

/// What the writer does for that: a power loss, unlike a kill, may have undone writes.
struct DirectoryComparison {
  let disk: OpenDisk

  /// Compares some of the subdirectories: files without a row are removed, and so are rows without a file.
  /// Returns the rows that went.
  func compare(_ subdirectories: Range<Int>) throws(DiskTrouble) -> [IndexMatch] {
    var lost: [IndexMatch] = []
    for number in subdirectories { lost += try compare(number) }
    return lost
  }

  private func compare(_ number: Int) throws(DiskTrouble) -> [IndexMatch] {
    let pictures: [PictureFile]
    do throws(SystemFailure) { pictures = try disk.pictures.contents(ofSubdirectory: number).pictures } catch {
      throw DiskTrouble(error)
    }
    let named = try disk.read { index throws(IndexProblem) in try index.entries.matches(inSubdirectory: number) }
    let rows = Dictionary(uniqueKeysWithValues: named.map { ($0.number, $0) })
    var found: Set<UInt32> = []
    for file in pictures {
      if rows[file.number]?.digest == file.digest {
        found.insert(file.number)
        continue
      }
      let isPending = try disk.read { index throws(IndexProblem) in
        try index.unlinks.contains(file.number, file.digest)
      }
      if !isPending { try? disk.shelves.remove(file) }
    }
    let lost = named.filter { !found.contains($0.number) }
    if !lost.isEmpty { try EntryRemoval(disk: disk).remove(lost.map(\.number), at: .max) }
    return lost
  }
}
