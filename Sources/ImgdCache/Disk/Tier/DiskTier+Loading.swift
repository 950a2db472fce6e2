internal import ImgdSystem

// The index is read while the daemon serves: part by part, so that a picture that somebody waits for
// is never far behind.

extension DiskTier {
  private static let gatheredAtOnce = 16_384
  private static let takenAtOnce = 4_096

  func gather() {
    ask(
      { (reader) throws(DiskTrouble) in try reader.gather(Self.gatheredAtOnce) },
      then: { [unowned self] isComplete in
        guard !isLoaded else { return }
        if isComplete { takeRecords() } else { gather() }
      })
  }

  private func takeRecords() {
    ask(
      { (reader) throws(DiskTrouble) in reader.takeRecords(Self.takenAtOnce) },
      then: { [unowned self] part in
        guard !isLoaded else { return }
        guard !part.isLast else { return finishLoading(with: part.records) }
        for record in part.records { takeIn(record) }
        takeRecords()
      })
  }

  func finishLoading(with records: [IndexRecord]) {
    for record in records { takeIn(record) }
    isLoaded = true
    removedWhileLoading = []
    trim()
  }

  /// An entry of the index file; one that is known already is newer.
  @discardableResult
  func takeIn(_ record: IndexRecord) -> Int? {
    let digest = KeyDigest(high: record.digestHigh, low: record.digestLow)
    if let place = index.place(of: digest) { return place }
    guard record.number > cleared, !removedWhileLoading.contains(record.number) else { return nil }
    // Whoever knows more formats has written it: nobody here can say what its bytes are.
    guard suffixes.indices.contains(Int(record.format)) else { return nil }
    let place = index.insert(DiskEntry(record, isTrusted: trustsFiles), asNewest: false)
    return place
  }
}
