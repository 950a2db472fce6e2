internal import ImgdSystem

extension DiskTier {
  /// How long what is known of last uses may be lost by a crash.
  private static let recencyDelay = Duration.seconds(10)

  func touch(_ place: Int) {
    index.touch(place)
    index[place].lastAccess = UInt32(clamping: wall)
    guard !index[place].isTouched else { return }
    index[place].isTouched = true
    if touched.isEmpty {
      loop.schedule(after: Self.recencyDelay) { [unowned self] in writeUses() }
    }
    touched.append((place, index[place].number))
  }

  private func writeUses() {
    let uses = takeUses()
    guard !uses.isEmpty else { return }
    order { (writer) throws(DiskTrouble) in try writer.note(uses) }
  }

  /// The uses that the index file does not know of.
  func takeUses() -> [(number: UInt32, at: Int64)] {
    defer { touched = [] }
    return touched.compactMap { place, number in
      guard let entry = index.entry(at: place, number: number) else { return nil }
      index[place].isTouched = false
      return (number, Int64(entry.lastAccess))
    }
  }
}
