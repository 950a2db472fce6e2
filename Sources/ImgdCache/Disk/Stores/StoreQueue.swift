/// One picture on its way to the disk, as the control loop sees it.
final class PendingStore {
  let image: CachedImage
  /// Its key, put together only once.
  let key: CacheKey
  let order: StoreOrder
  /// The actions to call when it is known whether there is a file.
  var settled: [() -> Void] = []
  /// The count of `VerifiedFiles` since which changes to its file are noticed; nil if they are not
  /// noticed.
  var noticedUnder: UInt32?
  /// Whether it has been sent a second time already.
  var wasRetried = false
  /// The last purge that it was compared with on its way.
  var checked: UInt64

  init(_ image: CachedImage, _ order: StoreOrder, checked: UInt64) {
    self.image = image
    key = image.key
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

  /// Puts a store at the front of the queue again.
  mutating func sendAgain(_ store: PendingStore) { unsent.insert(store, at: 0) }

  func store(of image: CachedImage) -> PendingStore? { all[ObjectIdentifier(image)] }

  /// The store of the newest image under a key.
  func store(of key: CacheKey) -> PendingStore? { byKey[key] }

  /// Keeps none of the images under a key.
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
