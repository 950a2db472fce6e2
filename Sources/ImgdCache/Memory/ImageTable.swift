internal import CLinux

/// The images of a tier with their cost, found by key and ordered by use.
///
/// Two structures share one numbering of places. A table finds the place of a key; a list orders
/// the places by last use. A look-up compares the parts of a key where they are, so a hit makes no key and
/// no allocation, and costs the same among a thousand images as among a million.
final class ImageTable {
  /// The most that can be charged for one image.
  static let mostCharged = Int(UInt32.max)

  struct Entry {
    fileprivate(set) var image: CachedImage?
    /// The number of its insertion: numbers rise, and a replacement keeps its predecessor's.
    let number: UInt64
    /// A part of the hash of the URL, so that looking for a URL need not touch the images.
    let urlTag: UInt32
    fileprivate var charge: UInt32

    fileprivate static var free: Entry { Entry(number: 0, urlTag: 0, charge: 0) }

    /// The bytes that were charged for the image when its cost was last counted.
    var cost: Int { Int(charge) }
  }

  private(set) var usage = 0
  private(set) var count = 0
  private(set) var lentBytes = 0
  private(set) var pixelBytes = 0

  private(set) var newest: UInt64 = 0

  private var entries: [Entry] = []
  private var order = EvictionOrder()
  /// The places of decoded pictures alone, in the order of their last use.
  private var pixels = PlaceChain()
  /// The places of pictures of which a form was made after they were last used themselves.
  private var sources = PlaceChain()
  private var table = PlaceTable()
  private let seed = KeyHasher.randomSeed()
  /// The places that `prefetch` has found; the room for them is kept.
  private var ahead: [Int32] = []

  /// All places, in use or free, for walking over them.
  var places: Range<Int> { 0..<entries.count }

  var newestFirst: some Sequence<Int> { order.newestFirst }

  /// What each user has.
  var accounts: Accounts { order.accounts }

  subscript(place: Int) -> Entry { @inline(__always) get { entries[place] } }

  @inline(__always) func image(at place: Int) -> CachedImage {
    guard let image = entries[place].image else { preconditionFailure("an image is looked for at a place in use") }
    return image
  }

  func place(of key: CacheKey) -> Int? {
    place(of: key.url.text, identifier: key.identifier, variant: key.variant, scope: key.scope)
  }

  func place(of url: String, identifier: String?, variant: KeyVariant?, scope: CredentialScope?) -> Int? {
    let identifier = identifier == "" ? nil : identifier
    let tags = tags(of: url.utf8.span, identifier: identifier, variant: variant, scope: scope)
    return table.place(tags.key) { place in
      image(at: place).matches(url, identifier: identifier, variant: variant, scope: scope)
    }
  }

  func place(of other: CachedImage) -> Int? {
    table.place(tags(of: other).key) { image(at: $0).hasKey(of: other) }
  }

  func tag(ofPlain url: Span<UInt8>) -> UInt32 {
    var hasher = KeyHasher(seed)
    hasher.combine(url)
    return PlaceTable.tag(hasher.finish())
  }

  /// Has the processor fetch what the looks under some tags need, one step for all of them before the next: the cell of
  /// the table, the entry, the image, what is kept of its answers.
  func prefetch(_ tags: Span<UInt32>) {
    for index in tags.indices { unsafe table.address(tags[index]).map { unsafe linux_prefetch($0) } }
    ahead.removeAll(keepingCapacity: true)
    ahead.append(addingCapacity: tags.count) { (places: inout OutputSpan<Int32>) in
      for index in tags.indices { if let place = table.likelyPlace(tags[index]) { places.append(Int32(place)) } }
    }
    let found = ahead
    let places = found.span
    order.prefetch(places, neighbours: false)
    unsafe entries.withUnsafeBufferPointer { entries in
      guard let start = entries.baseAddress else { return }
      for index in places.indices { unsafe linux_prefetch(start + Int(places[index])) }
      for index in places.indices {
        guard let image = unsafe Self.address(of: start + Int(places[index])) else { continue }
        unsafe CachedImage.prefetchFields(at: image)
      }
      order.prefetch(places, neighbours: true)
      for index in places.indices {
        guard let image = unsafe Self.address(of: start + Int(places[index])) else { continue }
        unsafe Unmanaged<CachedImage>.fromOpaque(image)._withUnsafeGuaranteedRef { unsafe $0.prefetchAnswer() }
      }
    }
  }

  /// Where the image of an entry is. An entry begins with the reference to it, which is read as an address: to count a
  /// reference would be to wait for the image.
  @unsafe @inline(__always) private static func address(of entry: UnsafePointer<Entry>) -> UnsafeRawPointer? {
    unsafe UnsafeRawPointer(entry).load(as: UnsafeRawPointer?.self)
  }

  /// The image whose key is a URL and nothing else, which stays as long as no image leaves the table; its tag may be known
  /// already. No reference is counted, which with many images at random would cost as much as the rest of the look.
  @unsafe @inline(__always) func reference(ofPlain url: Span<UInt8>, tag: UInt32?) -> Unmanaged<CachedImage>? {
    unsafe entries.withUnsafeBufferPointer { entries in
      guard let start = entries.baseAddress else { return nil }
      var found: Unmanaged<CachedImage>?
      _ = table.place(tag ?? self.tag(ofPlain: url)) { place in
        guard place < entries.count, let image = unsafe Self.address(of: start + place) else { return false }
        let reference = unsafe Unmanaged<CachedImage>.fromOpaque(image)
        guard unsafe reference._withUnsafeGuaranteedRef({ $0.isPlain(url) }) else { return false }
        unsafe found = reference
        return true
      }
      return unsafe found
    }
  }

  /// The image at a place that may be free, if its tag fits a URL and it was not inserted after `newest`.
  func image(at place: Int, of urlTag: UInt32?, upTo newest: UInt64) -> CachedImage? {
    guard places.contains(place), case let entry = entries[place], entry.number <= newest,
      urlTag == nil || urlTag == entry.urlTag
    else { return nil }
    return entry.image
  }

  /// The image at a place that may be free, or another's by now, if its key has a digest.
  func image(at place: Int, digest: KeyDigest) -> CachedImage? {
    guard places.contains(place), let image = entries[place].image, image.digest == digest else { return nil }
    return image
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

  @inline(__always) func touch(_ place: Int, _ image: CachedImage) {
    order.touch(place)
    if image.isPixels {
      order.aim(&pixels, at: place)
      pixels.moveToFront(place)
    }
    if image.isSource { forgetSource(image, at: place) }
  }

  /// Lets the bytes of a picture go first of which a form is here.
  func makeSource(_ image: CachedImage, at place: Int) {
    guard image.canLoseBody else { return }
    order.aim(&sources, at: place)
    if image.isSource { sources.remove(place) }
    sources.putInFront(place)
    image.isSource = true
  }

  private func forgetSource(_ image: CachedImage, at place: Int) {
    order.aim(&sources, at: place)
    sources.remove(place)
    image.isSource = false
  }

  /// Lets go of what goes first of the user who has more than a share of a capacity: bytes of pictures that have forms,
  /// then images. Returns how much less is charged; nil if there is nothing. Who holds the image keeps it whole.
  func giveUpNext(sharing capacity: Int) -> Int? {
    guard let account = order.accounts.fullest(sharing: capacity) else { return nil }
    guard let place = sources.oldest(in: account) else {
      return order.chain.oldest(in: account).map { takeImage(at: $0).cost }
    }
    let before = entries[place].cost
    replace(at: place, by: image(at: place).withoutBody())
    return before - entries[place].cost
  }

  /// Takes an image in as the most recently used.
  func insert(_ image: CachedImage) {
    let tags = tags(of: image)
    newest += 1
    let entry = Entry(image: image, number: newest, urlTag: tags.url, charge: UInt32(clamping: image.cost))
    let place = order.insert(of: image.owner ?? EntryOwner.nobody, costing: entry.cost)
    if place == entries.count { entries.append(entry) } else { entries[place] = entry }
    table.insert(tags.key, place)
    image.place = place
    usage += entry.cost
    count += 1
    count(image, at: place)
  }

  func replace(at place: Int, by image: CachedImage) {
    let old = self.image(at: place)
    takeBack(old, at: place)
    old.place = nil
    entries[place].image = image
    recount(place)
    if old.owner == image.owner {
      order.touch(place)
    } else {
      order.assign(place, to: image.owner ?? EntryOwner.nobody, costing: entries[place].cost)
    }
    image.place = place
    count(image, at: place)
  }

  private func count(_ image: CachedImage, at place: Int) {
    guard image.isPixels else { return }
    pixelBytes += image.byteCount
    order.aim(&pixels, at: place)
    pixels.putInFront(place)
  }

  func recount(_ place: Int) {
    let before = entries[place].cost
    entries[place].charge = UInt32(clamping: image(at: place).cost)
    usage += entries[place].cost - before
    order.charge(place, entries[place].cost - before)
  }

  /// Counts the bytes of an image as lent.
  func lend(_ image: CachedImage) {
    guard image.place != nil, !image.isLent else { return }
    image.isLent = true
    lentBytes += image.byteCount
  }

  /// Takes the image at a place out, and returns it with what it was charged.
  @discardableResult func takeImage(at place: Int) -> (image: CachedImage, cost: Int) {
    let (image, cost) = (image(at: place), entries[place].cost)
    usage -= cost
    takeBack(image, at: place)
    count -= 1
    table.remove(tags(of: image).key, place)
    order.remove(place, costing: cost)
    entries[place] = .free
    image.place = nil
    return (image, cost)
  }

  func takeVictim() -> (image: CachedImage, cost: Int)? { order.oldest.map(takeImage(at:)) }

  func takeOldestPixels() -> (image: CachedImage, cost: Int)? { pixels.oldestOfMost.map(takeImage(at:)) }

  /// Stops counting an image that leaves among pixels and lent bytes.
  private func takeBack(_ image: CachedImage, at place: Int) {
    if image.isPixels {
      pixelBytes -= image.byteCount
      order.aim(&pixels, at: place)
      pixels.remove(place)
    }
    if image.isSource { forgetSource(image, at: place) }
    if image.isLent { lentBytes -= image.byteCount }
    image.isLent = false
  }
}
