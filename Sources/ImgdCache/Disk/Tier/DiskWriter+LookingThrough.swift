internal import ImgdSystem

extension DiskWriter {
  /// Compares the files on some shelves with their rows: a file without a row is removed, a row
  /// without its file too. Answers the rows that went.
  func lookThrough(shelves: Range<Int>) throws(DiskTrouble) -> [IndexMatch] {
    var lost: [IndexMatch] = []
    for shelf in shelves { lost += try lookThrough(shelf: shelf) }
    return lost
  }

  private func lookThrough(shelf number: Int) throws(DiskTrouble) -> [IndexMatch] {
    guard let directory else { throw DiskTrouble(.gone, "the directory is not open") }
    let shelf: Shelf
    do throws(SystemFailure) {
      shelf = try directory.files(onShelf: number)
    } catch { throw DiskTrouble(error) }
    var named: [IndexMatch] = []
    var doomed: Set<UInt32> = []
    try commit { index throws(IndexProblem) in
      named = try index.matches(onShelf: number)
      doomed = Set(try index.doomed().map(\.number))
    }
    let rows = Dictionary(uniqueKeysWithValues: named.map { ($0.number, $0) })
    var found: Set<UInt32> = []
    for (file, _) in shelf.pictures {
      let row = rows[file.number]
      if let row, row.digestHigh == file.digest.high, row.digestLow == file.digest.low {
        found.insert(file.number)
      } else if !doomed.contains(file.number) {
        try? directory.remove(file)
      }
    }
    let lost = named.filter { !found.contains($0.number) }
    if !lost.isEmpty { try doom(lost.map(\.number), leases: [:], at: .max) }
    return lost
  }
}
