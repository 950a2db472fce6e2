import Testing

@testable import ImgdCache

struct RowSealTests {
  @Test func `a row seal is the same on every machine, as it is part of the layout`() throws {
    var row = sampleRow(1, identifier: "x", tags: ["a"])
    row.number = 7
    #expect(DiskEntry(row).seal == 13_955_901_262_878_312_718)
    let encoded = try #require(RecordCodec.encode(row.record))
    #expect(row.seal(encoded) == 14_987_039_512_776_138_300)
  }

  @Test(arguments: entryChanges.indices)
  func `a row seal depends on every value of an entry`(_ index: Int) {
    var row = sampleRow(1)
    entryChanges[index](&row)
    #expect(DiskEntry(row).seal != DiskEntry(sampleRow(1)).seal)
  }

  @Test(arguments: rowChanges.indices)
  func `a row seal depends on every value of a row`(_ index: Int) throws {
    var row = sampleRow(1, tags: ["ab", "c"])
    let encoded = try #require(RecordCodec.encode(row.record))
    let seal = row.seal(encoded)
    rowChanges[index](&row)
    #expect(try row.seal(#require(RecordCodec.encode(row.record))) != seal)
  }

  @Test func `a row seal depends on every bit of a record`() throws {
    let row = sampleRow(1)
    let encoded = try #require(RecordCodec.encode(row.record))
    for place in encoded.indices {
      for bit in 0..<8 {
        var changed = encoded
        changed[place] ^= 1 << bit
        #expect(row.seal(changed) != row.seal(encoded))
      }
    }
  }
}

private let entryChanges: [@Sendable (inout IndexRow) -> Void] = [
  { $0.record.digest = KeyDigest(high: 1, low: $0.record.digest.low) },
  { $0.record.digest = KeyDigest(high: $0.record.digest.high, low: 2) }, { $0.record.bytes += 1 },
  { $0.allocated += 512 }, { $0.record.storedAt += 1 }, { $0.record.freshUntil += 1 },
  { $0.record.facts = facts(format: 4) }, { $0.record.facts = facts(orientation: 7) },
  { $0.record.facts = facts(width: 641) }, { $0.record.facts = facts(height: 481) },
  { $0.record.facts = facts(frames: 2) }, { $0.record.flags.insert(.plain) },
  {
    $0.record.headers = StoredHeaders([("last-modified", "Tue, 01 Jul 2025 10:00:00 GMT")]).packed
  },
  { $0.record.checksum = BodyChecksum(8) }, { $0.record.place = samplePlace() },
]

private func samplePlace() -> VariantPlace {
  VariantPlace(owner: nil, rest: Digest128(high: 1, low: 2))
}

/// The facts of a sample, except for one.
private func facts(
  format: UInt8 = 3, width: Int = 640, height: Int = 480, frames: Int = 1, orientation: Int = 6
) -> ImageFacts {
  ImageFacts(
    format: format, width: width, height: height, frames: frames, orientation: orientation)
}

private let rowChanges: [@Sendable (inout IndexRow) -> Void] = [
  { $0.number += 1 }, { $0.record.digest = KeyDigest(high: 1, low: 2) }, { $0.record.url += "x" },
  { $0.host += "x" }, { $0.record.identifier = "" }, { $0.suffix = "" },
  { $0.record.tags = ["a", "bc"] }, { $0.record.tags = ["abc"] },
  { $0.record.checksum = BodyChecksum(8) }, { $0.record.status += 1 },
  { $0.record.redirectTarget = "" }, { $0.record.initialAgeMs += 1 }, { $0.record.lifetimeMs += 1 },
  { $0.record.whileRevalidateMs += 1 }, { $0.record.ifErrorMs = 0 },
  { $0.record.flags.insert(.immutable) }, { $0.record.description = [1] },
  { $0.record.varying = [0] }, { $0.record.place = samplePlace() },
  { ($0.record.headers, $0.record.varying) = ([], $0.record.headers) },
]
