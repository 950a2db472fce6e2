@testable import ImgdCache
@testable import ImgdSystem

extension FuzzTarget {
  /// The index of what one process leaves to the next, from bytes that anybody may have written.
  static let handover = FuzzTarget(
    "handover", of: ["ImgdCache/Memory/HandoverIndex.swift", "ImgdCache/Memory/Handover.swift"]
  ) { bytes in
    guard bytes.count % 3 > 0 else { return checkMade(bytes) }
    guard bytes.count % 3 > 1 else { return checkIndex(bytes) }
    var front = ByteWriter()
    front.put(0x696d_6764_686f_7431 as UInt64)
    front.put(HandoverIndex.version)
    checkIndex(PlannedRecord.sealed(front.bytes + bytes))
  }

  private static let pack = Payload([UInt8](repeating: 7, count: 64))

  private static func checkIndex(_ bytes: [UInt8]) {
    do throws(HandoverProblem) {
      let index = try HandoverIndex.decode(bytes)
      let again = try HandoverIndex.decode(index.encoded())
      expect(again == index, "an index survives being written and read")
    } catch .otherLayout {
    } catch { expect(error == .notWhole, "bytes are an index, or not") }
    inherit(bytes)
  }

  private static func checkMade(_ bytes: [UInt8]) {
    var choices = Choices(bytes)
    var index = HandoverIndex(isClean: choices.flag(), pack: nil, entries: [])
    if choices.flag() { index.pack = FileStatus.Identity(device: choices.number(), inode: choices.number()) }
    for _ in 0..<Int(choices.byte()) % 4 {
      let identity = FileStatus.Identity(device: choices.number(), inode: choices.number())
      let body = choices.pick([HandoverEntry.Body.away, .packed(choices.number()), .memory(identity)])
      guard let record = RecordCodec.encode(PlannedRecord.make(&choices).sane) else { continue }
      index.entries.append(
        HandoverEntry(
          record: record, number: choices.number(), lastAccess: choices.number(), isStale: choices.flag(), body: body))
    }
    let encoded = index.encoded()
    expect((try? HandoverIndex.decode(encoded)) == index, "an index survives")
    inherit(encoded)
  }

  private static func inherit(_ bytes: [UInt8]) {
    guard var inheritance = try? HandoverInheritance(Payload(bytes), [pack]) else { return }
    let now = Instant(nanoseconds: 1 << 50)
    var count = 0
    while let image = inheritance.next(most: { 1 << 20 }, wall: 1_700_000_000, at: now) {
      expect(image.byteCount >= 0 && image.lastAccess <= now, "nothing was used in the future")
      count += 1
    }
    expect(count <= bytes.count, "no more pictures than bytes")
  }
}
