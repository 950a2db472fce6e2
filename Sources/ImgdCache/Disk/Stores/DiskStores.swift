internal import ImgdSystem

/// Writes pictures to the disk in batches; a look-up finds those that are on their way here.
final class DiskStores: DiskPart {
  /// The most bytes of pictures that are held in memory while they wait for a slow disk.
  private static let mostOnTheWay = 256 << 20
  private static let mostWaiting = 8_192
  private static let mostInBatch = 64
  private static let mostBytesInBatch = 16 << 20

  private let removals: DiskRemovals
  private let eviction: DiskEviction
  private let verified: VerifiedFiles
  private var queue = StoreQueue()
  private var inFlight = 0

  init(_ ground: DiskGround, removals: DiskRemovals, eviction: DiskEviction, verified: VerifiedFiles) {
    self.removals = removals
    self.eviction = eviction
    self.verified = verified
    super.init(ground)
  }

  var isEmpty: Bool { queue.isEmpty }

  var bytes: Int { queue.bytes }

  var count: Int { queue.count }

  /// Whether something is on its way, or will be when this tick ends.
  var isStoring: Bool { inFlight > 0 || health.state == .ok && !queue.unsent.isEmpty }

  func image(for key: CacheKey) -> CachedImage? {
    guard let store = queue.store(of: key), !isVoid(store) else { return nil }
    if store.isStale { store.image.markStale() }
    return store.image
  }

  func contains(_ image: CachedImage) -> Bool { queue.store(of: image) != nil }

  /// Runs an action when it is known whether there is a file of an image; false when it is not on its way.
  func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) -> Bool {
    guard let store = queue.store(of: image) else { return false }
    store.settled.append(action)
    return true
  }

  func drop(_ key: CacheKey) { queue.drop(key) }

  /// Whether a picture must not be kept any more. It is new, so no purge by age is about it.
  private func isVoid(_ store: PendingStore) -> Bool {
    guard !store.image.isPurged else { return true }
    let verdict = purges.verdict(on: store.key, tags: store.image.tags, in: .disk, after: store.checked, storedAt: nil)
    store.checked = purges.newest
    switch verdict {
    case .untouched: return false
    case .stale: store.isStale = true
    case .purged: store.image.isPurged = true
    }
    return verdict == .purged
  }

  func refusal(of image: CachedImage) -> PathRefusal? {
    if let refusal = health.absence { return refusal }
    if image.scope != nil { return .credentials }
    if purges.verdict(on: image, in: .disk) == .purged { return .purged }
    if image.freshness.refusal != nil { return .noStore }
    if !image.hasBody { return .lost }
    if image.facts.width < 1 || image.facts.height < 1 { return .noStore }
    if image.byteCount > min(rules.limits.capacity, Int(UInt32.max)) { return .tooLarge }
    if health.state == .readOnly { return health.isFull ? .full : .readOnly }
    let isBusy = queue.bytes > Self.mostOnTheWay || queue.count >= Self.mostWaiting
    return isBusy ? .busy : nil
  }

  func add(_ image: CachedImage) -> PathRefusal? {
    if let refusal = refusal(of: image) { return refusal }
    guard queue.store(of: image) == nil else { return nil }
    if purges.verdict(on: image, in: .disk) == .stale { image.markStale() }
    guard let record = StoredRecord(image, wall: rules.wall, at: loop.now, packsFields: false) else { return .tooLarge }
    let key = CacheKey(
      url: CanonicalURL(canonical: record.url), identifier: record.identifier, variant: record.variant,
      knownDigest: record.digest)
    let row = IndexRow(
      record: record, host: key.url.host, suffix: files.suffix(of: image.facts), lastAccess: rules.wall)
    let order = StoreOrder(
      row: row, headers: image.response.headers, payload: image.payload,
      keepReplacedUntil: rules.wall + rules.leaseSeconds)
    queue.add(PendingStore(image, key, order, checked: purges.newest))
    // It is sent at the end of the tick, so that images that come together are stored together.
    if queue.unsent.count == 1 { loop.atTickEnd { [unowned self] in send() } }
    return nil
  }

  /// Sends a batch unless one is on its way: images that come meanwhile go with the next commit.
  func send() { if inFlight == 0 { sendBatch() } }

  /// Sends everything at once, for a job that has to come after all images that wait.
  func sendAll() { while health.state == .ok, !queue.unsent.isEmpty { sendBatch() } }

  private func sendBatch() {
    guard health.state == .ok, !queue.unsent.isEmpty else { return }
    let batch = queue.takeBatch(most: Self.mostInBatch, bytes: Self.mostBytesInBatch)
    let orders = batch.map { isVoid($0) || !$0.isStale ? $0.order : $0.order.stale }
    let minFree = rules.limits.minFree
    let count = verified.countForStores(amongOthers: inFlight > 0)
    for store in batch { store.noticedUnder = verified.covers(store.order.row.record.digest) ? count : nil }
    inFlight += 1
    threads.attempt(
      { (disk) throws(DiskTrouble) in PictureStore(disk: disk, minFree: minFree).store(orders) },
      then: { [unowned self] outcome, isCurrent in
        inFlight -= 1
        ended(batch, outcome, isCurrent: isCurrent)
        eviction.trim()
        send()
      })
  }

  private func ended(
    _ batch: [PendingStore], _ outcome: Result<[Result<DiskEntry, DiskTrouble>], DiskTrouble>, isCurrent: Bool
  ) {
    for (place, store) in batch.enumerated() {
      switch outcome.flatMap({ $0[place] }) {
      case .success(let entry) where isCurrent: takeIn(entry, of: store)
      case .success: failed(store, .directoryIsGone, isCurrent: false)
      case .failure(let trouble): failed(store, trouble, isCurrent: isCurrent)
      }
    }
  }

  /// Gives up all waiting images because nothing can be stored now, and tells the clients that wait for their paths.
  func refuseAll() { giveUp(queue.takeBatch(most: .max, bytes: .max)) }

  private func takeIn(_ stored: DiskEntry, of store: PendingStore) {
    var entry = stored
    entry.lastAccess = UInt32(clamping: rules.wall)
    let (place, isReplacement) = index.insert(entry)
    if isReplacement { reports.counts.replacements += 1 } else { reports.counts.insertions += 1 }
    // The file that it replaces stays for the time of a lease. There may be one even if memory had no entry: one that
    // is being removed has left memory, but its row may still have been there.
    if isReplacement || !index.isLoaded || !removals.isIdle { removals.removeUnlinked(after: rules.limits.lease) }
    if let count = store.noticedUnder { verified.noteStored(entry, at: place, under: count) }
    store.image.file = files.stored(entry, at: place)
    if isVoid(store) {
      // A purge came while it was being written.
      removals.remove(place, of: entry.digest)
    } else {
      // The soft purge that came has the writer mark the row, which it finds.
      if store.isStale { index.markStale(entry.digest, number: entry.number) }
      reports.onNews(.stored(store.image, bytes: Int(entry.bytes)))
    }
    settle(store)
  }

  /// Tries a store once more after making room, or with the index that is opened next; otherwise gives it up.
  private func failed(_ store: PendingStore, _ trouble: DiskTrouble, isCurrent: Bool) {
    // One that a newer picture is to replace could come after it.
    if !store.wasRetried, isNewest(store), !isVoid(store), mayRetry(store, trouble, isCurrent: isCurrent) {
      store.wasRetried = true
      return queue.sendAgain(store)
    }
    reports.counts.writeErrors += 1
    if isCurrent { threads.report(trouble) }
    giveUp([store])
  }

  private func isNewest(_ store: PendingStore) -> Bool { queue.store(of: store.key) === store }

  /// Ends stores without an entry. What they were to replace goes as well: it would be shown again when memory has let go
  /// of the newer picture.
  private func giveUp(_ stores: [PendingStore]) {
    var digests: [KeyDigest] = []
    for store in stores {
      if isNewest(store) { digests.append(store.order.row.record.digest) }
      settle(store)
    }
    removals.remove(digests.compactMap { index.place(of: $0) }, as: .loss)
    guard !index.isLoaded else { return }
    for digest in digests { removals.remove(matching: PurgeFilter(digest), isSoft: false, onMatch: nil) { _ in } }
  }

  private func mayRetry(_ store: PendingStore, _ trouble: DiskTrouble, isCurrent: Bool) -> Bool {
    switch trouble.kind {
    case .full: return eviction.makeRoom(for: store.image.byteCount)
    case .gone, .indexLost:
      if isCurrent, files.isOpen { threads.report(trouble) }
      return true
    case .readOnly, .broken, .excluded: return false
    }
  }

  private func settle(_ store: PendingStore) {
    queue.remove(store)
    for settled in store.settled { settled() }
  }
}

/// One picture on its way to the disk, as the control loop sees it.
final class PendingStore {
  let image: CachedImage
  /// The image's own, put together only once.
  let key: CacheKey
  let order: StoreOrder
  var settled: [() -> Void] = []
  /// The count of `VerifiedFiles` since which changes to its file are noticed; nil if they are not noticed.
  var noticedUnder: UInt32?
  var wasRetried = false
  /// The last purge that it was compared with on its way.
  var checked: UInt64
  /// Whether a soft purge came while it was on its way.
  var isStale = false

  init(_ image: CachedImage, _ key: CacheKey, _ order: StoreOrder, checked: UInt64) {
    self.image = image
    self.key = key
    self.order = order
    self.checked = checked
  }
}

/// Pictures on their way to the disk, the oldest first.
struct StoreQueue {
  private(set) var bytes = 0
  private(set) var unsent: [PendingStore] = []

  /// All stores that have not ended, by the identity of their images.
  private var all: [ObjectIdentifier: PendingStore] = [:]
  private var byKey: [CacheKey: PendingStore] = [:]

  var isEmpty: Bool { all.isEmpty }

  var count: Int { all.count }

  mutating func add(_ store: PendingStore) {
    all[ObjectIdentifier(store.image)] = store
    byKey[store.key] = store
    bytes += store.image.byteCount
    unsent.append(store)
  }

  mutating func remove(_ store: PendingStore) {
    guard all.removeValue(forKey: ObjectIdentifier(store.image)) != nil else { return }
    if byKey[store.key] === store { byKey[store.key] = nil }
    bytes -= store.image.byteCount
  }

  mutating func sendAgain(_ store: PendingStore) { unsent.insert(store, at: 0) }

  func store(of image: CachedImage) -> PendingStore? { all[ObjectIdentifier(image)] }

  func store(of key: CacheKey) -> PendingStore? { byKey[key] }

  func drop(_ key: CacheKey) { for store in all.values where store.key == key { store.image.isPurged = true } }

  mutating func takeBatch(most: Int, bytes limit: Int) -> [PendingStore] {
    var count = 0
    var bytes = 0
    while count < min(most, unsent.count), count == 0 || bytes < limit {
      bytes += unsent[count].image.byteCount
      count += 1
    }
    defer { unsent.removeFirst(count) }
    return Array(unsent.prefix(count))
  }
}

/// Rewrites the records of pictures that their origin has confirmed; the files stay as they are.
final class DiskRenewals: DiskPart {
  /// Images whose rows are being written, by the numbers of their entries.
  private var renewals: [UInt32: CachedImage] = [:]

  func image(of number: UInt32) -> CachedImage? { renewals[number] }

  func renew(_ image: CachedImage, countsAsUse: Bool) {
    guard let file = image.file, let entry = files.entry(of: file),
      let record = StoredRecord(image, wall: rules.wall, at: loop.now)
    else { return }
    let row = IndexRow(
      number: entry.number, record: record, host: image.url.host, suffix: files.suffix(of: image.facts),
      allocated: entry.allocated, lastAccess: countsAsUse ? rules.wall : Int64(entry.lastAccess))
    index.renew(file.place, by: record)
    renewals[entry.number] = image
    threads.order(
      { (disk) throws(DiskTrouble) in try disk.renew(row) },
      then: { [unowned self] _ in if renewals[entry.number] === image { renewals[entry.number] = nil } })
  }

  func forget() { renewals = [:] }
}
