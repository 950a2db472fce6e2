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
