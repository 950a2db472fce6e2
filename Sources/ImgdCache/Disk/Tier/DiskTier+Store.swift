internal import ImgdSystem

/// Pictures on their way to the disk.
struct DiskStores {
  final class Store {
    let image: CachedImage
    let order: StoreOrder
    var settled: [() -> Void] = []
    /// Room was made for it once already.
    var wasRetried = false

    init(_ image: CachedImage, _ order: StoreOrder) {
      self.image = image
      self.order = order
    }
  }

  /// All that have not ended, the oldest first, by the identity of their image.
  private(set) var all: [ObjectIdentifier: Store] = [:]
  private var byKey: [CacheKey: Store] = [:]
  private(set) var bytes = 0
  var unsent: [Store] = []
  /// Batches that the writer has not answered.
  var inFlight = 0

  mutating func add(_ store: Store) {
    all[ObjectIdentifier(store.image)] = store
    byKey[store.image.key] = store
    bytes += store.image.payload.count
    unsent.append(store)
  }

  mutating func remove(_ store: Store) {
    guard all.removeValue(forKey: ObjectIdentifier(store.image)) != nil else { return }
    if byKey[store.image.key] === store { byKey[store.image.key] = nil }
    bytes -= store.image.payload.count
  }

  func store(of image: CachedImage) -> Store? { all[ObjectIdentifier(image)] }

  /// The newest image under a key that is on its way.
  func image(for key: CacheKey) -> CachedImage? {
    byKey[key].flatMap { $0.image.isPurged ? nil : $0.image }
  }

  mutating func takeBatch(most: Int, bytes limit: Int) -> [Store] {
    var count = 0
    var bytes = 0
    while count < min(most, unsent.count), count == 0 || bytes < limit {
      bytes += unsent[count].image.payload.count
      count += 1
    }
    defer { unsent.removeFirst(count) }
    return Array(unsent.prefix(count))
  }
}

extension DiskTier {
  /// Why an image would not be kept; nil when it would.
  package func shouldCache(_ image: CachedImage) -> PathRefusal? {
    if !isEnabled || (state == .off && !isOpening) { return .off }
    if image.key.scope != nil { return .credentials }
    if image.isPurged { return .purged }
    if image.freshness.refusal != nil { return .noStore }
    if image.facts.width < 1 || image.facts.height < 1 { return .noStore }
    if image.payload.count > min(limits.capacity, Int(UInt32.max)) { return .tooLarge }
    if state == .readOnly { return recovery.isFull ? .full : .readOnly }
    return stores.bytes > Self.mostOnTheWay ? .busy : nil
  }

  /// Pictures that wait for a slow disk are held in memory: so many bytes, and no more.
  private static let mostOnTheWay = 256 << 20
  private static let mostInBatch = 64
  private static let mostBytesInBatch = 16 << 20

  /// Keeps an image, in place of what was there under its key; answers why not.
  @discardableResult
  package func add(_ image: CachedImage) -> PathRefusal? {
    if let refusal = shouldCache(image) { return refusal }
    guard stores.store(of: image) == nil else { return nil }
    guard
      let row = IndexRow(image, suffix: suffixes[Int(image.facts.format)], wall: wall, at: loop.now)
    else {
      return .tooLarge
    }
    let order = StoreOrder(
      row: row, payload: image.payload, keepReplacedUntil: wall + leaseSeconds)
    stores.add(DiskStores.Store(image, order))
    // At the end of the tick, so that what comes together is stored together.
    if stores.unsent.count == 1 { loop.atTickEnd { [unowned self] in sendStores() } }
    return nil
  }

  /// Sends one batch at a time: what comes meanwhile goes with the next commit.
  func sendStores() {
    guard stores.inFlight == 0 else { return }
    sendBatch()
  }

  /// For who wants to come after everything that waits.
  func sendAllStores() {
    while state == .ok, !stores.unsent.isEmpty { sendBatch() }
  }

  private func sendBatch() {
    guard state == .ok, !stores.unsent.isEmpty else { return }
    let batch = stores.takeBatch(most: Self.mostInBatch, bytes: Self.mostBytesInBatch)
    let orders = batch.map(\.order)
    let minFree = limits.minFree
    stores.inFlight += 1
    writer?.submit(
      { $0.store(orders, keepingFree: minFree) },
      then: { [unowned self, generation] in
        stores.inFlight -= 1
        for (store, outcome) in zip(batch, $0) {
          stored(store, outcome, isCurrent: generation == self.generation)
        }
        trim()
        sendStores()
      })
  }

  private func stored(
    _ store: DiskStores.Store, _ outcome: Result<IndexRecord, DiskTrouble>, isCurrent: Bool
  ) {
    switch outcome {
    case .success(let record) where isCurrent: takeIn(record, of: store)
    case .success:
      failed(store, DiskTrouble(.gone, "the cache directory was removed"), isCurrent: false)
    case .failure(let trouble): failed(store, trouble, isCurrent: isCurrent)
    }
  }

  /// Nothing can be stored now: who waits for a path is told so.
  func refuseStores() {
    for store in stores.takeBatch(most: .max, bytes: .max) { settle(store) }
  }

  private func takeIn(_ record: IndexRecord, of store: DiskStores.Store) {
    let digest = KeyDigest(high: record.digestHigh, low: record.digestLow)
    let old = index.place(of: digest)
    if let old {
      index.remove(old)
      counts.replacements += 1
    } else {
      counts.insertions += 1
    }
    // What it replaces, in the index file at least, stays for a lease.
    if old != nil || !isLoaded { carryOutLater(after: limits.lease) }
    var entry = DiskEntry(record, isTrusted: true)
    entry.lastAccess = UInt32(clamping: wall)
    let place = index.insert(entry)
    store.image.file = storedFile(of: entry, at: place)
    if store.image.isPurged {
      // A purge came while it was written.
      purge(place, of: store.image.key)
    } else {
      onNews(.stored(bytes: Int(entry.bytes)))
    }
    settle(store)
  }

  /// Without room, what was not used for longest goes, and the store is tried once more.
  private func failed(
    _ store: DiskStores.Store, _ trouble: DiskTrouble, isCurrent: Bool
  ) {
    if !store.wasRetried, !store.image.isPurged, mayRetry(store, trouble, isCurrent: isCurrent) {
      store.wasRetried = true
      stores.unsent.insert(store, at: 0)
      return
    }
    counts.writeErrors += 1
    if isCurrent { fail(trouble) }
    settle(store)
  }

  private func mayRetry(
    _ store: DiskStores.Store, _ trouble: DiskTrouble, isCurrent: Bool
  ) -> Bool {
    switch trouble.kind {
    case .full: return makeRoom(for: store.image.payload.count)
    case .gone, .indexLost:
      if isCurrent, directory != nil { fail(trouble) }
      return true
    case .readOnly, .broken: return false
    }
  }

  private func settle(_ store: DiskStores.Store) {
    stores.remove(store)
    for settled in store.settled { settled() }
  }

  /// The origin has confirmed an image that is on disk: its file stays as it is.
  package func renew(_ image: CachedImage) {
    guard let file = image.file, let entry = entry(of: file),
      var row = IndexRow(image, suffix: suffixes[Int(image.facts.format)], wall: wall, at: loop.now)
    else { return }
    row.record.number = entry.number
    row.record.allocated = entry.allocated
    index[file.place].freshUntil = UInt32(clamping: row.record.freshUntil)
    index[file.place].storedAt = UInt32(clamping: row.record.storedAt)
    index[file.place].isPlain = EntryFlags(image).contains(.plain)
    let renewed = row
    renewals[entry.number] = image
    order(
      { (writer) throws(DiskTrouble) in try writer.renew(renewed) },
      then: { [unowned self] _ in
        if renewals[entry.number] === image { renewals[entry.number] = nil }
      })
  }
}
