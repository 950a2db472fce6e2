import Testing

@testable import ImgdCache

@Suite("The seal of a row")
struct RowSealTests {
  @Test("is the same on every machine, as it is part of the layout")
  func layout() {
    var row = sampleRow(1, identifier: "x", tags: ["a"])
    row.record.number = 7
    #expect(row.record.seal == 11_468_039_895_713_920_648)
    #expect(row.seal == 13_242_689_625_754_949_844)
  }

  @Test("changes with every single value of a record", arguments: recordChanges.indices)
  func record(_ index: Int) {
    var row = sampleRow(1)
    recordChanges[index](&row.record)
    #expect(row.record.seal != sampleRow(1).record.seal)
  }

  @Test("changes with every single value of a row", arguments: rowChanges.indices)
  func row(_ index: Int) {
    var row = sampleRow(1, tags: ["ab", "c"])
    rowChanges[index](&row)
    #expect(row.seal != sampleRow(1, tags: ["ab", "c"]).seal)
  }

  @Test("changes with every bit of a text")
  func bits() {
    let row = sampleRow(1)
    for place in row.headers.indices {
      for bit in 0..<8 {
        var changed = row
        changed.headers[place] ^= 1 << bit
        #expect(changed.seal != row.seal)
      }
    }
  }
}

private let recordChanges: [@Sendable (inout IndexRecord) -> Void] = [
  { $0.digestHigh += 1 }, { $0.digestLow += 1 }, { $0.bytes += 1 }, { $0.allocated += 1 },
  { $0.storedAt += 1 }, { $0.freshUntil += 1 }, { $0.format += 1 }, { $0.orientation += 1 },
  { $0.width += 1 }, { $0.height += 1 }, { $0.frames += 1 }, { $0.flags += 1 },
]

private let rowChanges: [@Sendable (inout IndexRow) -> Void] = [
  { $0.record.number += 1 }, { $0.record.digestHigh += 1 }, { $0.url += "x" }, { $0.host += "x" },
  { $0.identifier = "" }, { $0.suffix = "" }, { $0.tags = ["a", "bc"] }, { $0.tags = ["abc"] },
  { $0.checksumHigh += 1 }, { $0.checksumLow += 1 }, { $0.status += 1 }, { $0.finalURL = "" },
  { $0.initialAgeMs += 1 }, { $0.lifetimeMs += 1 }, { $0.whileRevalidateMs += 1 },
  { $0.ifErrorMs = 0 }, { $0.freshnessFlags += 1 }, { $0.varying = [0] },
  { ($0.headers, $0.varying) = ([], $0.headers) },
]
