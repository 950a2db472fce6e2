internal import ImgdSystem

/// Pictures on their way to the disk.
struct DiskStores {
  final class Store {
    let image: CachedImage
    let order: StoreOrder
    var settled: [(DiskTier.Lending) -> Void] = []
    /// A purge has matched it: it goes again as soon as it is there.
    var isPurged = false
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
    byKey[key].flatMap { $0.isPurged ? nil : $0.image }
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
