/// Compares the files in the directory with their rows in the background, after a stop that was not clean.
final class DirectoryCheck: DiskPart {
  private static let subdirectoriesAtOnce = 2

  /// Whether every file is known to have its row, and every row its file.
  private(set) var isDone = false
  /// Whether the last stop was not clean.
  private(set) var wasNeeded = false

  let ground: DiskGround

  init(_ ground: DiskGround) { self.ground = ground }

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
      { (disk) throws(DiskTrouble) in try DirectoryComparison(disk).compare(number..<end) },
      then: { [unowned self] lost in
        guard let lost else { return }
        for match in lost { index.remove(match.digest, number: match.number) }
        compare(from: end)
      })
  }
}
