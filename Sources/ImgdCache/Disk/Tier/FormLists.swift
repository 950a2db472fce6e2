// The forms of each picture, and which pictures give up their bytes for them.
//
// The forms of a picture are a list through their entries, since a picture may have many. The picture need not be here:
// after a start, entries come in any order. A picture whose bytes were not asked for since its last form was made is a
// source: its bytes go before anything else.

extension EntryTable {
  func hasForms(of digest: KeyDigest) -> Bool { firstForm(of: digest.formBase) != nil }

  func forms(of base: UInt32, most: Int) -> [Int] {
    sequence(state: firstForm(of: base)) { next in
      guard let place = next else { return nil }
      next = Self.place(self[place].nextForm)
      return place
    }.prefix(most).map(\.self)
  }

  /// The places of sources, the first to go first.
  func sources(sharing capacity: Int = 0) -> EvictionOrder.Victims {
    order.victims(of: chain, sharing: capacity) { (entry(at: $0)?.allocated ?? 0) - DiskEntry.chargeForFacts }
  }

  /// Lets go of the bytes of an entry, and returns how much less is charged for it.
  mutating func shed(_ place: Int) -> Int {
    let before = self[place].allocated
    self[place].shed()
    let less = before - self[place].allocated
    charge(place, -less)
    recordCount += 1
    spare(place)
    return less
  }

  private func firstForm(of base: UInt32) -> Int? {
    bases.place(tag(of: UInt64(base))) { place in entry(at: place).map { $0.isForm && $0.base == base } ?? false }
  }

  private static func place(_ link: Int32) -> Int? { link < 0 ? nil : Int(link) }

  /// Puts a form behind the first one of its picture, whose bytes may go now.
  mutating func linkForm(_ place: Int, asNewest: Bool) {
    let base = self[place].base
    if let first = firstForm(of: base) {
      let next = self[first].nextForm
      (self[place].previousForm, self[place].nextForm) = (Int32(first), next)
      self[first].nextForm = Int32(place)
      if let next = Self.place(next) { self[next].previousForm = Int32(place) }
    } else {
      noteBase(base, at: place)
    }
    if let original = original(ofBase: base) { makeSource(original, asNewest: asNewest) }
  }

  /// The place of the picture whose forms have a base.
  func original(ofBase base: UInt32) -> Int? {
    table.place(tag(of: UInt64(~base))) { entry(at: $0)?.digest.formBase == base }
  }

  mutating func unlinkForm(_ place: Int) {
    let form = self[place]
    if let previous = Self.place(form.previousForm) {
      self[previous].nextForm = form.nextForm
    } else {
      forgetBase(form.base, at: place)
      if let next = Self.place(form.nextForm) { noteBase(form.base, at: next) }
    }
    if let next = Self.place(form.nextForm) { self[next].previousForm = form.previousForm }
    // Without forms, a picture goes in the order of its use.
    guard form.nextForm < 0, firstForm(of: form.base) == nil, let original = original(ofBase: form.base) else { return }
    forgetSource(original)
  }

  mutating func forgetSource(_ place: Int) {
    guard chain.contains(place) else { return }
    order.aim(&chain, at: place)
    chain.remove(place)
  }

  /// Lets the bytes of a picture go first, if there are any, and forms of it.
  mutating func makeSource(_ place: Int, asNewest: Bool) {
    let entry = self[place]
    guard entry.hasBody, !entry.isForm, hasForms(of: entry.digest) else { return }
    forgetSource(place)
    order.aim(&chain, at: place)
    if asNewest { chain.putInFront(place) } else { chain.putAtEnd(place) }
  }
}
