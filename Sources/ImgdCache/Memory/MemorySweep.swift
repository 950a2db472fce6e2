// Removals that pass over the whole memory tier, in parts: the cleaning after a purge, and the removal of all images
// or of all decoded pictures.

package import ImgdSystem

extension MemoryTier {
  /// The cleaning after a purge, or the removal of some or all images. It covers only images that were there when it began.
  package struct Sweep {
    /// The purge that decides which images go; nil for a removal.
    fileprivate let row: PurgeList.Row?
    fileprivate var isMeant: (CachedImage) -> Bool = { _ in true }
    fileprivate let newest: UInt64
    fileprivate let urlTag: UInt32?
    fileprivate var places: Range<Int>
    /// Called for each image that a purge means.
    package var onMatch: ((CachedImage) -> Void)?
    package fileprivate(set) var removal = Removal()

    /// Whether an image goes. One that has replaced another since the purge was not there when it was asked for.
    fileprivate func means(_ image: CachedImage, isFresh: (CachedImage, Instant) -> Bool) -> Bool {
      guard let row else { return isMeant(image) }
      guard image.checked < row.number || row.filter.asksForState else { return false }
      return row.filter.matches(image, isFresh: isFresh(image, row.askedAt), at: row.askedAt)
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

  /// Goes on with some more images, and returns whether any are left. `isFresh` is asked by a purge of what has expired:
  /// the freshness of a form is its picture's, which this tier may not have.
  package func goOn(
    with sweep: inout Sweep, isFresh: (CachedImage, Instant) -> Bool = { $0.isFresh(at: $1) }
  ) -> Bool {
    var (examined, passed) = (0, 0)
    let before = sweep.removal.entries
    while passed < Self.mostPassed, let place = sweep.places.popFirst() {
      passed += 1
      guard let image = images.image(at: place, of: sweep.urlTag, upTo: sweep.newest) else { continue }
      if sweep.means(image, isFresh: isFresh) { remove(place, image, for: &sweep) }
      examined += 1
      guard examined < Self.mostExamined, sweep.removal.entries < before + Self.mostRemoved else { return true }
    }
    return !sweep.places.isEmpty
  }

  private func remove(_ place: Int, _ image: CachedImage, for sweep: inout Sweep) {
    sweep.onMatch?(image)
    guard sweep.row?.isSoft != true else {
      sweep.removal.count(images[place].cost)
      return image.markStale()
    }
    sweep.removal.count(images.takeImage(at: place).cost)
    // Forms need not have what the purge has named, such as a tag that came later; nothing leads to them any more. One
    // that has been used of late stays where the purge is about use.
    guard sweep.row?.filter.asksForState != true else { return }
    for made in image.forms where images.image(at: made.place, digest: made.digest) != nil {
      sweep.removal.count(images.takeImage(at: made.place).cost)
    }
  }
}
