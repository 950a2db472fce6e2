internal import ImgdSystem

extension DiskTier {
  private static let shelvesAtOnce = 16

  /// Compares files and rows, shelf by shelf: a power loss may undo what a kill cannot.
  func lookThrough(shelf: Int) {
    guard shelf < Shelf.all else { return }
    let end = min(shelf + Self.shelvesAtOnce, Shelf.all)
    order(
      { (writer) throws(DiskTrouble) in try writer.lookThrough(shelves: shelf..<end) },
      then: { [unowned self] lost in
        guard let lost else { return }
        for match in lost { forget(match) }
        lookThrough(shelf: end)
      })
  }

  /// An entry whose file is not there.
  private func forget(_ match: IndexMatch) {
    if !isLoaded { removedWhileLoading.insert(match.number) }
    let digest = KeyDigest(high: match.digestHigh, low: match.digestLow)
    guard let place = index.place(of: digest), index[place].number == match.number else { return }
    index.remove(place)
  }
}
