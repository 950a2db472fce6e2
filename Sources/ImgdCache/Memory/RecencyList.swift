/// The images of a tier in the order of their last use, each at a place that stays the same.
///
/// The links are numbers in one array: moving an image to the front touches four cells of it and
/// no reference count. A place that became free is used again.
struct RecencyList {
  struct Entry {
    fileprivate(set) var image: CachedImage?
    /// The part of the key's hash under which the table knows the place.
    let tag: UInt32
    /// The same for the URL alone, so that looking for a URL need not touch the images.
    let urlTag: UInt32
    /// Which insertion it was: numbers rise, and a replacement keeps its predecessor's.
    let number: UInt64
    /// What was charged for the image when it was last looked at.
    fileprivate(set) var cost: Int
    fileprivate var newer = none
    fileprivate var older = none

    static var free: Entry { Entry(image: nil, tag: 0, urlTag: 0, number: 0, cost: 0) }

    init(image: CachedImage?, tag: UInt32, urlTag: UInt32, number: UInt64, cost: Int) {
      self.image = image
      self.tag = tag
      self.urlTag = urlTag
      self.number = number
      self.cost = cost
    }
  }

  fileprivate static let none: Int32 = -1

  private var entries: [Entry] = []
  private var free: [Int32] = []
  private var newest = none
  private var oldest = none

  init() {}

  /// Places in use and free ones, for walking over all of them.
  var places: Range<Int> { 0..<entries.count }

  /// The places in use, the most recently used first.
  var newestFirst: some Sequence<Int> {
    sequence(state: newest) { next in
      guard next != Self.none else { return nil }
      defer { next = entries[Int(next)].older }
      return Int(next)
    }
  }

  /// The place that was not used for longest.
  var leastRecent: Int? { oldest == Self.none ? nil : Int(oldest) }

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
  var nextPlace: Int { free.last.map(Int.init) ?? entries.count }

  /// Takes an entry in at `nextPlace`, as the most recent one.
  mutating func insert(_ entry: Entry) {
    let place = nextPlace
    if free.popLast() == nil { entries.append(entry) } else { entries[place] = entry }
    linkAsNewest(Int32(place))
  }

  /// Whether the entry that a record speaks of is still there.
  func isLive(_ record: InsertionLog.Record) -> Bool {
    entries.indices.contains(record.place) && entries[record.place].number == record.number
  }

  mutating func replaceImage(at place: Int, by image: CachedImage, cost: Int) {
    entries[place].image = image
    entries[place].cost = cost
  }

  mutating func setCost(_ cost: Int, at place: Int) {
    entries[place].cost = cost
  }

  /// Makes the entry at a place the most recent one.
  @inline(__always)
  mutating func touch(_ place: Int) {
    let place = Int32(truncatingIfNeeded: place)
    guard place != newest else { return }
    unlink(place)
    linkAsNewest(place)
  }

  mutating func remove(_ place: Int) {
    unlink(Int32(place))
    entries[place] = .free
    free.append(Int32(place))
  }

  private mutating func linkAsNewest(_ place: Int32) {
    entries[Int(place)].newer = Self.none
    entries[Int(place)].older = newest
    if newest == Self.none { oldest = place } else { entries[Int(newest)].newer = place }
    newest = place
  }

  private mutating func unlink(_ place: Int32) {
    let newer = entries[Int(place)].newer
    let older = entries[Int(place)].older
    if newer == Self.none { newest = older } else { entries[Int(newer)].older = older }
    if older == Self.none { oldest = newer } else { entries[Int(older)].newer = newer }
  }
}
