/// The images of a tier in the order of their last use, each at a place that stays the same.
struct RecencyList {
  struct Entry {
    fileprivate(set) var image: CachedImage?
    /// The part of the key's hash under which the table knows the place.
    let tag: UInt32
    /// The same for the URL alone, so that looking for a URL need not touch the images.
    let urlTag: UInt32
    /// Which insertion it was: numbers rise, and a replacement keeps its predecessor's.
    let number: UInt64
    /// The bytes that were charged for the image when it was last looked at.
    fileprivate(set) var cost: Int

    static var free: Entry { Entry(image: nil, tag: 0, urlTag: 0, number: 0, cost: 0) }

    init(image: CachedImage?, tag: UInt32, urlTag: UInt32, number: UInt64, cost: Int) {
      self.image = image
      self.tag = tag
      self.urlTag = urlTag
      self.number = number
      self.cost = cost
    }
  }

  private var entries: [Entry] = []
  private var order: EvictionOrder

  init(_ rule: EvictionRule) {
    order = EvictionOrder(rule)
  }

  /// Takes another rule from now on.
  mutating func follow(_ rule: EvictionRule) { order.follow(rule) }

  /// Places in use and free ones, for walking over all of them.
  var places: Range<Int> { 0..<entries.count }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> { order.newestFirst }

  /// The place that goes next, of all places that have been charged so many bytes.
  func victim(usage: Int) -> Int? { order.victim(usage: usage) }

  /// Whether the entry at a place counts as asked for again.
  func isUsedAgain(_ place: Int) -> Bool { order.isUsedAgain(place) }

  subscript(place: Int) -> Entry {
    @inline(__always) get { entries[place] }
  }

  /// The image at a place in use.
  @inline(__always)
  func image(at place: Int) -> CachedImage {
    guard let image = entries[place].image else {
      preconditionFailure("an image is looked for at a place in use")
    }
    return image
  }

  /// The place that the next entry will get.
  var nextPlace: Int { order.nextPlace }

  /// Takes an entry in at `nextPlace`, as the most recent one.
  mutating func insert(_ entry: Entry, isUsedAgain: Bool) {
    let place = order.insert(size: entry.cost, isUsedAgain: isUsedAgain)
    if place == entries.count { entries.append(entry) } else { entries[place] = entry }
  }

  /// Whether the entry that a record speaks of is still there.
  func isLive(_ record: InsertionLog.Record) -> Bool {
    entries.indices.contains(record.place) && entries[record.place].number == record.number
  }

  mutating func replaceImage(at place: Int, by image: CachedImage, cost: Int) {
    entries[place].image = image
    setCost(cost, at: place)
  }

  mutating func setCost(_ cost: Int, at place: Int) {
    order.resize(place, from: entries[place].cost, to: cost)
    entries[place].cost = cost
  }

  /// Makes the entry at a place the most recent one.
  @inline(__always)
  mutating func touch(_ place: Int) {
    order.touch(place, size: entries[place].cost)
  }

  mutating func remove(_ place: Int) {
    order.remove(place, size: entries[place].cost)
    entries[place] = .free
  }
}
