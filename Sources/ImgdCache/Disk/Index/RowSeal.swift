/// A sum over the values of a row, so that a byte that has changed on the disk is noticed.
///
/// It guards against accidents, not against somebody who can write the file. Every step can be
/// undone, so a single value that differs always shows. The sum is part of the file's layout.
struct RowSeal {
  private var state: UInt64 = 0x6A09_E667_F3BC_C909

  mutating func take<Number: FixedWidthInteger>(_ number: Number) {
    state = (state << 23 | state >> 41) ^ UInt64(truncatingIfNeeded: number)
    state &*= 0x9E37_79B9_7F4A_7C15
  }

  mutating func take(_ bytes: Span<UInt8>) {
    take(bytes.count)
    var offset = 0
    while bytes.count - offset >= 8 {
      take(word(bytes, offset))
      offset += 8
    }
    while offset < bytes.count {
      take(bytes[offset])
      offset += 1
    }
  }

  mutating func take(_ text: String) {
    take(text.utf8.span)
  }

  /// What is missing differs from what is empty.
  mutating func take(_ text: String?) {
    take(text == nil ? 0 : 1)
    if let text { take(text) }
  }

  func finish() -> UInt64 { state ^ state >> 32 }
}

extension IndexRecord {
  /// Over all but the number, which is not known yet when the row is written, and the last use,
  /// which changes all the time and decides nothing but an order.
  var seal: UInt64 {
    var seal = RowSeal()
    seal.take(digestHigh)
    seal.take(digestLow)
    seal.take(bytes)
    seal.take(allocated)
    seal.take(storedAt)
    seal.take(freshUntil)
    seal.take(UInt16(format) << 8 | UInt16(orientation))
    seal.take(width)
    seal.take(height)
    seal.take(frames)
    seal.take(flags)
    return seal.finish()
  }
}

extension IndexRow {
  /// Over the names and the answer, and over what ties them to their record.
  var seal: UInt64 {
    var seal = RowSeal()
    seal.take(record.number)
    seal.take(record.digestHigh)
    seal.take(record.digestLow)
    sealNames(&seal)
    sealAnswer(&seal)
    return seal.finish()
  }

  private func sealNames(_ seal: inout RowSeal) {
    seal.take(url)
    seal.take(host)
    seal.take(identifier)
    seal.take(suffix)
    seal.take(tags.count)
    for tag in tags { seal.take(tag) }
  }

  private func sealAnswer(_ seal: inout RowSeal) {
    seal.take(checksumHigh)
    seal.take(checksumLow)
    seal.take(status)
    seal.take(headers.span)
    seal.take(finalURL)
    for duration in [initialAgeMs, lifetimeMs, whileRevalidateMs, ifErrorMs ?? -1] {
      seal.take(duration)
    }
    seal.take(freshnessFlags)
    seal.take(varying.span)
  }
}
