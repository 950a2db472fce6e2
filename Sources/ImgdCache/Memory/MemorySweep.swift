// Removals that pass over the whole memory tier, in parts: the cleaning after a purge, and the removal of all images
// or of all decoded pictures.

extension MemoryTier {
  /// The cleaning after a purge, or the removal of some or all images. It covers only images that were there when it began.
  package struct Sweep {
    /// The purge that decides which images go; nil for a removal.
    fileprivate let row: PurgeList.Row?
    fileprivate var isMeant: (CachedImage) -> Bool = { _ in true }
    fileprivate let newest: UInt64
    fileprivate let urlTag: UInt32?
    fileprivate var places: Range<Int>
    package fileprivate(set) var removal = Removal()

    /// Whether an image goes. One that has replaced another since the purge was not there when it was asked for.
    fileprivate func means(_ image: CachedImage) -> Bool {
      guard let row else { return isMeant(image) }
      guard image.checked < row.number || row.filter.asksForState else { return false }
      return row.filter.matches(image, at: row.askedAt)
    }
  }

  /// Begins to remove every image that a purge covers, or to mark it stale.
  package func beginSweep(after row: PurgeList.Row) -> Sweep {
    counts.purges += 1
    return Sweep(row: row, newest: images.newest, urlTag: row.filter.url.map(images.urlTag), places: images.places)
  }

  /// Begins to remove all images.
  package func beginRemoval() -> Sweep {
    counts.purges += 1
    return beginRemoval { _ in true }
  }

  /// Begins to remove the images that are meant.
  package func beginRemoval(where isMeant: @escaping (CachedImage) -> Bool) -> Sweep {
    Sweep(row: nil, isMeant: isMeant, newest: images.newest, urlTag: nil, places: images.places)
  }

  /// Begins to remove all decoded pictures: when memory is short they go first.
  package func beginRemovalOfPixels() -> Sweep {
    Sweep(
      row: nil, isMeant: { $0.isPixels }, newest: images.newest, urlTag: nil,
      places: images.pixelBytes > 0 ? images.places : 0..<0)
  }

  /// Goes on with some more images, and returns whether any are left.
  package func goOn(with sweep: inout Sweep) -> Bool {
    var (examined, passed) = (0, 0)
    let before = sweep.removal.entries
    while passed < Self.mostPassed, let place = sweep.places.popFirst() {
      passed += 1
      guard let image = images.image(at: place, of: sweep.urlTag, upTo: sweep.newest) else { continue }
      if sweep.means(image) { remove(place, image, for: &sweep) }
      examined += 1
      guard examined < Self.mostExamined, sweep.removal.entries < before + Self.mostRemoved else { return true }
    }
    return !sweep.places.isEmpty
  }

  private func remove(_ place: Int, _ image: CachedImage, for sweep: inout Sweep) {
    guard sweep.row?.isSoft != true else {
      sweep.removal.count(images[place].cost)
      return image.markStale()
    }
    sweep.removal.count(images.takeImage(at: place).cost)
  }
}
