/// The images of a tier with their cost, found by key and ordered by use.
///
/// Two structures share one numbering of places. A table finds the place of a key; a list orders
/// the places by last use. A look-up compares the parts of a key where they are, so a hit makes no key and
/// no allocation, and costs the same among a thousand images as among a million.
final class ImageTable {
  private(set) var usage = 0
  private(set) var count = 0
  /// Bytes of images of which a descriptor has been handed out: while a client holds it, they stay in
  /// memory even if the image leaves the tier.
  private(set) var lentBytes = 0
  /// Bytes of decoded pictures.
  private(set) var pixelBytes = 0

  /// The number of the newest insertion.
  private(set) var newest: UInt64 = 0

  private(set) var list = RecencyList()
  /// The places of decoded pictures alone, in the order of their last use.
  private var pixels = PlaceChain()
  private var table = PlaceTable()
  private let seed = KeyHasher.randomSeed()

  init() {}

  // MARK: Finding

  @inline(__always) func image(at place: Int) -> CachedImage { list.image(at: place) }

  func place(of key: CacheKey) -> Int? {
    place(of: key.url.text, identifier: key.identifier, variant: key.variant, scope: key.scope)
  }

  func place(of url: String, identifier: String?, variant: KeyVariant?, scope: CredentialScope?) -> Int? {
    let identifier = identifier == "" ? nil : identifier
    let tags = tags(of: url.utf8.span, identifier: identifier, variant: variant, scope: scope)
    return table.place(tags.key) { place in
      list.image(at: place).matches(url, identifier: identifier, variant: variant, scope: scope)
    }
  }

  /// The place of the image under the same key as another.
  func place(of other: CachedImage) -> Int? {
    table.place(tags(of: other).key) { list.image(at: $0).hasKey(of: other) }
  }

  /// The image whose key is a URL and nothing else.
  func image(ofPlain url: Span<UInt8>) -> CachedImage? {
    var hasher = KeyHasher(seed)
    hasher.combine(url)
    var found: CachedImage?
    _ = table.place(PlaceTable.tag(hasher.finish())) { place in
      let image = list.image(at: place)
      guard image.isPlain(url) else { return false }
      found = image
      return true
    }
    return found
  }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> { list.newestFirst }

  /// The image at a place that may be free, if its tag fits a URL and it was not inserted after `newest`.
  func image(at place: Int, of urlTag: UInt32?, upTo newest: UInt64) -> CachedImage? {
    guard list.places.contains(place), case let entry = list[place], entry.number <= newest,
      urlTag == nil || urlTag == entry.urlTag
    else { return nil }
    return entry.image
  }

  /// The tag that all images of a URL share.
  func urlTag(_ url: CanonicalURL) -> UInt32 { tags(of: url.text.utf8.span).url }

  private func tags(of image: CachedImage) -> (url: UInt32, key: UInt32) {
    image.withURL { url in tags(of: url, identifier: image.identifier, variant: image.variant, scope: image.scope) }
  }

  /// The tags of the URL alone and of the whole key.
  private func tags(
    of url: Span<UInt8>, identifier: String? = nil, variant: KeyVariant? = nil, scope: CredentialScope? = nil
  ) -> (url: UInt32, key: UInt32) {
    var hasher = KeyHasher(seed)
    hasher.combine(url)
    let urlTag = PlaceTable.tag(hasher.finish())
    guard identifier != nil || variant != nil || scope != nil else { return (urlTag, urlTag) }
    if let identifier { hasher.combine(identifier) }
    variant?.hash(into: &hasher)
    scope?.hash(into: &hasher)
    return (urlTag, PlaceTable.tag(hasher.finish()))
  }

  // MARK: Changing

  /// Makes the image at a place the most recently used.
  @inline(__always) func touch(_ place: Int, _ image: CachedImage) {
    list.touch(place)
    if image.isPixels { pixels.moveToFront(place) }
  }

  /// Takes an image in as the most recently used.
  func insert(_ image: CachedImage) {
    let tags = tags(of: image)
    let place = list.nextPlace
    newest += 1
    let entry = RecencyList.Entry(image: image, urlTag: tags.url, number: newest, cost: image.cost)
    list.insert(entry)
    table.insert(tags.key, place)
    image.place = place
    usage += entry.cost
    count += 1
    count(image, at: place)
  }

  func replace(at place: Int, by image: CachedImage) {
    let old = list[place]
    usage -= old.cost
    if let image = old.image { takeBack(image, at: place) }
    old.image?.place = nil
    list.replaceImage(at: place, by: image, cost: image.cost)
    list.touch(place)
    image.place = place
    usage += list[place].cost
    count(image, at: place)
  }

  private func count(_ image: CachedImage, at place: Int) {
    guard image.isPixels else { return }
    pixelBytes += image.byteCount
    pixels.putInFront(place)
  }

  /// Counts an image's cost again.
  func recount(_ place: Int) {
    usage -= list[place].cost
    list.setCost(list.image(at: place).cost, at: place)
    usage += list[place].cost
  }

  /// Counts the bytes of an image as lent.
  func lend(_ image: CachedImage) {
    guard image.place != nil, !image.isLent else { return }
    image.isLent = true
    lentBytes += image.byteCount
  }

  // MARK: Removing

  /// Takes the image at a place out, and returns it with what it was charged.
  @discardableResult func takeImage(at place: Int) -> (image: CachedImage, cost: Int) {
    let (image, entry) = (list.image(at: place), list[place])
    usage -= entry.cost
    takeBack(image, at: place)
    count -= 1
    table.remove(tags(of: image).key, place)
    list.remove(place)
    image.place = nil
    return (image, entry.cost)
  }

  /// Takes out the image that goes next, and returns it with what it was charged.
  func takeVictim() -> (image: CachedImage, cost: Int)? { list.oldest.map(takeImage(at:)) }

  /// Takes out the least recently used decoded picture, and returns it with what it was charged.
  func takeOldestPixels() -> (image: CachedImage, cost: Int)? { pixels.oldest.map(takeImage(at:)) }

  /// Stops counting an image that leaves among pixels and lent bytes.
  private func takeBack(_ image: CachedImage, at place: Int) {
    if image.isPixels {
      pixelBytes -= image.byteCount
      pixels.remove(place)
    }
    if image.isLent { lentBytes -= image.byteCount }
    image.isLent = false
  }
}

/// The images of a tier in the order of their last use, each at a place that stays the same.
struct RecencyList {
  /// The most that can be charged for one image.
  static let mostCharged = Int(UInt32.max)

  struct Entry {
    fileprivate(set) var image: CachedImage?
    /// The number of its insertion: numbers rise, and a replacement keeps its predecessor's.
    let number: UInt64
    /// A part of the hash of the URL, so that looking for a URL need not touch the images.
    let urlTag: UInt32
    fileprivate var charge: UInt32

    static var free: Entry { Entry(image: nil, urlTag: 0, number: 0, cost: 0) }

    init(image: CachedImage?, urlTag: UInt32, number: UInt64, cost: Int) {
      self.image = image
      self.urlTag = urlTag
      self.number = number
      charge = UInt32(clamping: cost)
    }

    /// The bytes that were charged for the image when its cost was last counted.
    var cost: Int { Int(charge) }
  }

  private var entries: [Entry] = []
  private var order = EvictionOrder()

  init() {}

  /// All places, in use or free, for walking over them.
  var places: Range<Int> { 0..<entries.count }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> { order.newestFirst }

  /// The place that goes next.
  var oldest: Int? { order.oldest }

  subscript(place: Int) -> Entry { @inline(__always) get { entries[place] } }

  /// The image at a place in use.
  @inline(__always) func image(at place: Int) -> CachedImage {
    guard let image = entries[place].image else { preconditionFailure("an image is looked for at a place in use") }
    return image
  }

  /// The place that the next entry will get.
  var nextPlace: Int { order.nextPlace }

  /// Takes an entry in at `nextPlace`, as the most recent one.
  mutating func insert(_ entry: Entry) {
    let place = order.insert()
    if place == entries.count { entries.append(entry) } else { entries[place] = entry }
  }

  mutating func replaceImage(at place: Int, by image: CachedImage, cost: Int) {
    entries[place].image = image
    setCost(cost, at: place)
  }

  mutating func setCost(_ cost: Int, at place: Int) { entries[place].charge = UInt32(clamping: cost) }

  /// Makes the entry at a place the most recent one.
  @inline(__always) mutating func touch(_ place: Int) { order.touch(place) }

  mutating func remove(_ place: Int) {
    order.remove(place)
    entries[place] = .free
  }
}
