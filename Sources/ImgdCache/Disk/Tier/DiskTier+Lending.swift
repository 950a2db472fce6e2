internal import ImgdSystem

/// Where an image is on disk, if it is still the same entry.
package final class StoredFile {
  let place: Int
  let number: UInt32
  /// Of the index that it is in: another one gives the same numbers to others.
  let generation: Int
  package let path: String
  /// How the daemon ends an answer that tells the path.
  private var ending: [UInt8]?

  init(place: Int, number: UInt32, generation: Int, path: String) {
    self.place = place
    self.number = number
    self.generation = generation
    self.path = path
  }

  /// The path is held twice.
  var cost: Int { 2 * path.utf8.count + 128 }

  /// The daemon's encoding of the path, made once.
  package func ending(orElse encode: (String) -> [UInt8]) -> [UInt8] {
    if let ending { return ending }
    let encoded = encode(path)
    ending = encoded
    return encoded
  }
}

/// Why there is no path to an image.
package enum PathRefusal: Sendable, CaseIterable {
  case off, readOnly, full, busy
  case noStore, credentials, tooLarge, purged
  /// The request does not want it stored on disk.
  case notWanted
  /// It was on disk, and is not any more.
  case lost
}

extension DiskTier {
  /// Whether an image's file can be handed out.
  package enum Lending: Equatable {
    /// Its path stays for the time of the lease; the image knows it.
    case lent
    /// It is being written, or looked at; see `whenSettled`.
    case waiting
    case refused(PathRefusal)
  }

  /// Promises that the file of an image stays for a while, if it is there; an image without a file
  /// is written, if it may be.
  package func lend(_ image: CachedImage, mayStore: Bool) -> Lending {
    guard isEnabled, state != .off || isOpening else { return .refused(.off) }
    if stores.store(of: image) != nil { return .waiting }
    if image.file == nil { reunite(image) }
    if let file = image.file, let entry = entry(of: file) {
      switch sight(of: entry, at: file.place) {
      case .sound: return lend(file.place)
      case .wouldWait: return .waiting
      case .missing: lost(file.place)
      case .damaged: damaged(file.place, "it is not the file that was stored")
      }
    }
    guard mayStore else { return .refused(.lost) }
    if let refusal = add(image) { return .refused(refusal) }
    return .waiting
  }

  /// Finds the file of an image that an earlier process has left in memory, if it is still there.
  private func reunite(_ image: CachedImage) {
    guard image.formerFile != 0 else { return }
    let digest = KeyDigest(url: image.key.url.text, identifier: image.key.identifier)
    guard let place = index.place(of: digest) else { return }
    let entry = index[place]
    guard entry.number == image.formerFile, Int(entry.bytes) == image.payload.count else { return }
    image.file = storedFile(of: entry, at: place)
  }

  /// Whether an entry's file is sound; it is looked at unless nobody has touched it since the last
  /// time.
  func sight(of entry: DiskEntry, at place: Int) -> CheckAnswer {
    hear()
    guard isInPlace else { return .missing }
    if index[place].seenIn == sightings { return .sound }
    guard looks[entry.number] == nil else { return .wouldWait }
    guard let directory, let file = pictureFile(of: entry) else { return .damaged }
    // Watched first, so that nothing happens unseen in between.
    let isWatched = watch?.cover(file.shelf) == true
    let answer = directory.check(file, count: Int(entry.bytes))
    switch answer {
    case .sound where isWatched: index[place].seenIn = sightings
    case .wouldWait: look(file, of: entry, at: place, isWatched: isWatched)
    case .sound, .missing, .damaged: break
    }
    return answer
  }

  /// Where the kernel would have to ask the disk, the reader waits for it.
  private func look(_ file: PictureFile, of entry: DiskEntry, at place: Int, isWatched: Bool) {
    looks[entry.number] = []
    let count = sightings
    ask(
      { (reader) throws(DiskTrouble) in reader.check(file, count: Int(entry.bytes)) },
      orElse: { [unowned self] in looked(entry) },
      then: { [unowned self] problem in
        if index.entry(at: place, number: entry.number) != nil {
          switch problem {
          case nil: index[place].seenIn = isWatched ? count : sightings
          case .damaged(let reason): damaged(place, reason)
          default: lost(place)
          }
        }
        looked(entry)
      })
  }

  private func looked(_ entry: DiskEntry) {
    for action in looks.removeValue(forKey: entry.number) ?? [] { action() }
  }

  /// Takes note of what others have done to the files, once a tick.
  private func hear() {
    guard heardAt != loop.now, let watch else { return }
    heardAt = loop.now
    for news in watch.news() {
      guard case .touched(let file) = news else {
        sightings += 1
        isInPlace = directory?.isInPlace() == true
        continue
      }
      if let place = index.place(of: file.digest), index[place].number == file.number {
        index[place].seenIn = 0
      }
    }
  }

  func lend(_ place: Int) -> Lending {
    touch(place)
    let end = wall + leaseSeconds
    // Half as long again, so that the promise need not be renewed at every use.
    if Int64(index[place].leaseEnd) < end { promise(place, until: end + leaseSeconds / 2) }
    return .lent
  }

  /// Calls back when it is known whether there is a file; only for an image that is waited for.
  package func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) {
    if let store = stores.store(of: image) { return store.settled.append(action) }
    guard let number = image.file?.number, looks[number] != nil else { return action() }
    looks[number]?.append(action)
  }

  /// Whether an image's own file is there, as far as the index knows.
  package func holds(_ image: CachedImage) -> Bool {
    guard let file = image.file else { return false }
    return entry(of: file) != nil
  }

  func entry(of file: StoredFile) -> DiskEntry? {
    file.generation == generation ? index.entry(at: file.place, number: file.number) : nil
  }

  func storedFile(of entry: DiskEntry, at place: Int) -> StoredFile? {
    guard let directory, let file = pictureFile(of: entry) else { return nil }
    return StoredFile(
      place: place, number: entry.number, generation: generation, path: directory.path(of: file))
  }

  func pictureFile(of entry: DiskEntry) -> PictureFile? {
    PictureFile(
      digest: entry.digest, number: entry.number, suffix: suffixes[Int(entry.facts.format)])
  }

  func fileName(of entry: DiskEntry) -> String {
    pictureFile(of: entry)?.name ?? entry.digest.hex
  }
}
