import ImgdTestSupport
import Testing

@testable import ImgdCache

/// Which pictures have forms, in a table whose entries come and go in any order.
struct FormListTests {
  private static let pictures = 12

  private func picture(_ number: Int) -> KeyDigest {
    KeyDigest(high: 1, low: UInt64(10 + number))
  }

  private func entry(_ digest: KeyDigest, formOf picture: KeyDigest? = nil) -> DiskEntry {
    DiskEntry(
      number: UInt32(truncatingIfNeeded: digest.low), digest: digest, bytes: 4_000, allocated: 4_096,
      facts: ImageFacts(format: 1, width: 1, height: 1, frames: 1, orientation: 1),
      modified: 0, checksum: BodyChecksum(0), storedAt: 1, lastAccess: 1, freshUntil: 1,
      flags: picture == nil ? [] : .form, base: picture?.formBase ?? 0)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `the forms of each picture are known, whatever comes and goes`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = EntryTable()
    // The place of each form, and the picture that it is one of.
    var forms: [Int: Int] = [:]
    for step in 0..<4_000 {
      if Bool.random(using: &random) || forms.isEmpty {
        let owner = Int.random(in: 0..<Self.pictures, using: &random)
        let digest = KeyDigest(high: 2, low: UInt64(1_000 + step))
        let place = table.insert(
          entry(digest, formOf: picture(owner)), asNewest: .random(using: &random))
        forms[place] = owner
      } else if let place = forms.keys.sorted().randomElement(using: &random) {
        table.remove(place)
        forms[place] = nil
      }
      guard step.isMultiple(of: 20) else { continue }
      for number in 0..<Self.pictures {
        let expected = Set(forms.filter { $0.value == number }.keys)
        let base = picture(number).formBase
        #expect(table.hasForms(of: picture(number)) == !expected.isEmpty)
        #expect(Set(table.forms(of: base, most: .max)) == expected)
        #expect(table.forms(of: base, most: 3).count == min(expected.count, 3))
      }
    }
  }

  @Test func `the bytes go first of which a form was made last, until they are used`() {
    var table = EntryTable()
    let places = (1...3).map { table.insert(entry(picture($0))) }
    #expect(Array(table.sources()).isEmpty)
    let forms = [2, 1, 3].map { table.insert(entry(picture(100 + $0), formOf: picture($0))) }
    #expect(Array(table.sources()) == [places[1], places[0], places[2]])
    table.use(places[0], at: 5)
    #expect(Array(table.sources()) == [places[1], places[2]])
    // Another form is made of them: they were needed for that alone.
    _ = table.insert(entry(picture(111), formOf: picture(1)))
    #expect(Array(table.sources()) == [places[1], places[2], places[0]])
    table.remove(forms[2])
    #expect(!table.hasForms(of: picture(3)) && !table.sources().contains(places[2]))
    table.remove(places[1])
    #expect(table.shed(places[0]) == 4_096 - DiskEntry.chargeForFacts)
    #expect(table.recordCount == 1 && !table[places[0]].hasBody)
    #expect(table.allocated == 4 * 4_096 + DiskEntry.chargeForFacts)
    // Facts alone are no source, whatever is made.
    _ = table.insert(entry(picture(112), formOf: picture(1)))
    #expect(!Array(table.sources()).contains(places[0]))
    table.remove(places[0])
    #expect(table.recordCount == 0)
  }

  @Test func `the lists take no room in the table that entries did not have before`() {
    #expect(MemoryLayout<DiskEntry?>.stride == 104)
  }

  @Test func `of entries that are read, forms may come before their picture`() {
    var table = EntryTable()
    _ = table.insert(entry(picture(101), formOf: picture(1)), asNewest: false)
    let first = table.insert(entry(picture(1)), asNewest: false)
    let second = table.insert(entry(picture(2)), asNewest: false)
    #expect(Array(table.sources()) == [first])
    _ = table.insert(entry(picture(102), formOf: picture(2)), asNewest: false)
    #expect(Array(table.sources()) == [second, first])
  }

  @Test func `the use of a form moves its picture only when that is facts alone`() {
    var table = EntryTable()
    let places = (1...2).map { table.insert(entry(picture($0))) }
    table.useFacts(places[0], at: 7)
    #expect(Array(table.victims()) == places && table[places[0]].lastAccess == 7)
    _ = table.shed(places[0])
    _ = table.shed(places[1])
    table.useFacts(places[0], at: 8)
    #expect(Array(table.victims()) == [places[1], places[0]])
  }
}
