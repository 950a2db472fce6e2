/// Goes through the directory after an unclean stop, in the background.
final class DirectoryCheck: DiskPart {
  private static let subdirectoriesAtOnce = 2

  /// Every file is known to have its row.
  private(set) var isDone = false
  /// The last stop was not clean.
  private(set) var wasNeeded = false

  let ground: DiskGround

  init(_ ground: DiskGround) {
    self.ground = ground
  }

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
