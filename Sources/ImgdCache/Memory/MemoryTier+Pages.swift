extension MemoryTier {
  /// Some of a tier's images in the order of their insertion.
  package struct Page {
    package internal(set) var images: [CachedImage] = []
    /// Where to go on; nil when there is nothing more.
    package internal(set) var next: UInt64?
  }

  /// The most entries that one call looks at: a prefix that hardly any image has must not hold up
  /// the loop.
  static let mostExamined = 10_000

  /// Reads on after a cursor, without counting as a use; nil begins at the beginning.
  ///
  /// A cursor is the number of an insertion: it stays good whatever is added and removed meanwhile,
  /// and no image that is there all the time comes twice or not at all. With a prefix a page may be
  /// short, even empty, and still have a next one.
  package func page(after cursor: UInt64?, limit: Int, prefix: String? = nil) -> Page {
    var page = Page()
    let records = log.records(after: cursor ?? 0)
    for record in records.prefix(Self.mostExamined) {
      guard page.images.count < limit else { return page }
      page.next = record.number
      guard list.isLive(record) else { continue }
      let image = list.image(at: record.place)
      guard prefix.map({ image.key.url.text.utf8.starts(with: $0.utf8) }) ?? true else { continue }
      page.images.append(image)
    }
    if records.count <= Self.mostExamined { page.next = nil }
    return page
  }
}
