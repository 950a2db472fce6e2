import ImgdTestSupport
import Testing

@testable import ImgdCache

struct EntryTableTests {
  /// A plain list in place of the table: the entries in order, the least recently used first.
  private struct Model {
    var order: [KeyDigest] = []
    var entries: [KeyDigest: (place: Int, number: UInt32, allocated: Int)] = [:]

    var allocated: Int { entries.values.reduce(0) { $0 + $1.allocated } }
  }

  private func entry(_ digest: KeyDigest, number: UInt32, allocated: Int) -> DiskEntry {
    DiskEntry(
      number: number, digest: digest, bytes: UInt32(allocated), allocated: allocated,
      facts: ImageFacts(format: 1, width: 1, height: 1, frames: 1, orientation: 1),
      modified: 0, checksum: BodyChecksum(0), storedAt: 1,
      lastAccess: 1, freshUntil: 1, flags: [], base: UInt32(digest.high % 8))
  }

  /// Sixteen low halves among a hundred digests: the table tells entries apart by tags that are
  /// made of the low half alone.
  private func digest(_ number: Int) -> KeyDigest {
    KeyDigest(high: UInt64(number), low: UInt64(number % 16))
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the entry table behaves like a list`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (index, model) = (EntryTable(), Model())
    for step in 0..<4_000 {
      change(&index, &model, digest(.random(in: 0..<100, using: &random)), step, &random)
      if step.isMultiple(of: 50) { compare(index, model) }
    }
    compare(index, model)
  }

  private func change(
    _ index: inout EntryTable, _ model: inout Model, _ digest: KeyDigest, _ step: Int,
    _ random: inout SeededGenerator
  ) {
    guard let known = model.entries[digest] else {
      return insert(digest, step, into: &index, &model, &random)
    }
    model.order.removeAll { $0 == digest }
    if Bool.random(using: &random) {
      index.touch(known.place)
      model.order.append(digest)
    } else {
      #expect(index.remove(known.place).digest == digest)
      model.entries[digest] = nil
    }
  }

  private func insert(
    _ digest: KeyDigest, _ step: Int, into index: inout EntryTable, _ model: inout Model,
    _ random: inout SeededGenerator
  ) {
    let (isNewest, allocated) = (Bool.random(using: &random), 512 * (step % 100))
    let number = UInt32(step)
    let place = index.insert(
      entry(digest, number: number, allocated: allocated), asNewest: isNewest)
    #expect(!model.entries.values.contains { $0.place == place }, "a place belongs to one entry")
    model.entries[digest] = (place, number, allocated)
    model.order.insert(digest, at: isNewest ? model.order.count : 0)
  }

  private func compare(_ index: EntryTable, _ model: Model) {
    #expect(index.count == model.entries.count)
    #expect(index.allocated == model.allocated)
    #expect(index.victims(sharing: 0).map { index[$0].digest } == model.order)
    #expect(Set(index.places(from: 0, count: .max) ?? []) == Set(model.entries.values.map(\.place)))
    for number in 0..<100 {
      let digest = digest(number)
      #expect(index.place(of: digest) == model.entries[digest]?.place)
    }
    let bases = Set(model.entries.keys.map { $0.high % 8 })
    for base in 1..<8 as Range<UInt64> {
      #expect(index.hasEntry(ofBase: UInt32(base)) == bases.contains(base))
    }
    for (digest, known) in model.entries {
      #expect(index.entry(at: known.place, number: known.number)?.digest == digest)
      #expect(index.entry(at: known.place, number: known.number + 1) == nil)
    }
  }

  @Test func `an entry is found by the base that its last answer has given it`() {
    var index = EntryTable()
    let place = index.insert(entry(digest(1), number: 1, allocated: 512))
    let held = index.heldBytes
    for (before, base) in [(1, 0), (0, 7), (7, 2)] as [(UInt32, UInt32)] {
      index.setBase(base, at: place)
      #expect(index[place].base == base && !index.hasEntry(ofBase: before))
      #expect(index.hasEntry(ofBase: base) == (base > 0))
      #expect((index.heldBytes == held) == (base > 0))
    }
    index.remove(place)
    #expect(!index.hasEntry(ofBase: 2))
  }

  @Test func `a position outside the table has no entry`() {
    var index = EntryTable()
    #expect(index.entry(at: 0, number: 1) == nil)
    #expect(index.entry(at: -1, number: 1) == nil)
    let place = index.insert(entry(digest(1), number: 1, allocated: 512))
    index.remove(place)
    #expect(index.entry(at: place, number: 1) == nil)
    #expect(Array(index.victims(sharing: 0)).isEmpty)
  }

  @Test func `a single entry is first and last in the order`() {
    var index = EntryTable()
    let place = index.insert(entry(digest(1), number: 1, allocated: 512), asNewest: false)
    index.touch(place)
    #expect(Array(index.victims(sharing: 0)) == [place])
    index.remove(place)
    let next = index.insert(entry(digest(2), number: 2, allocated: 512))
    #expect(Array(index.victims(sharing: 0)) == [next])
  }
}
