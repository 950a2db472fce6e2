package import ImgdSystem

/// A picture, or an answer without one, in the form in which a fleet's server keeps it.
///
///     head: "IMGF", layout, flags, begun at, stored at, mark, stamp, lengths, checksum of head and row
///     row:  the record, as `RecordCodec` writes it
///     body: the picture's bytes
///
/// Numbers have their highest byte first, so that the server's scripts can read them. Times are
/// milliseconds by the server's clock. Decoding survives any bytes: bytes that were cut, changed or written
/// by somebody else give no value.
///
/// A picture is written in layout 1; what that cannot say, an answer without a body, in layout 2. A host that knows only
/// an older layout than a value has leaves it alone.
package struct FleetValue: Sendable {
  /// The length of the head, which is enough to tell values under one key apart.
  package static let headLength = 72
  /// The row of a usual picture takes only a few hundred bytes.
  package static let mostRowBytes = 64 * 1024
  package static let magic = "IMGF"
  /// The newest layout that is known here.
  package static let newestLayout: UInt8 = 2

  /// When its transfer was begun.
  package let begunAt: Int64
  package let storedAt: Int64
  package let mark: FleetPosition
  package let stamp: UInt64
  package let record: StoredRecord
  package let payload: Payload

  package init(
    begunAt: Int64, storedAt: Int64, mark: FleetPosition, stamp: UInt64, record: StoredRecord, payload: Payload
  ) {
    self.begunAt = begunAt
    self.storedAt = storedAt
    self.mark = mark
    self.stamp = stamp
    self.record = record
    self.payload = payload
  }

  /// The oldest layout that can say it.
  package var layout: UInt8 { payload.count == 0 ? 2 : 1 }

  /// The greatest length of a value whose picture has `picture` bytes.
  package static func mostBytes(picture: Int) -> Int { headLength + mostRowBytes + picture }

  /// All bytes of the value before its picture's; nil when its record is too long, or does not fit the picture.
  package var front: [UInt8]? {
    var record = record.sane
    // Who asked for it here means nothing on another machine.
    record.owner = nil
    record.tags = EntryTags.withoutUsers(record.tags)
    guard record.bytes == payload.count, payload.count > 0 || record.facts == .none else { return nil }
    if record.checksum == .unknown { record.checksum = BodyChecksum(of: payload) }
    guard let row = RecordCodec.encode(record), row.count <= Self.mostRowBytes else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.headLength + row.count)
    bytes += Self.magic.utf8
    bytes += [layout, 0, 0, 0]
    let numbers = [
      UInt64(clamping: begunAt), UInt64(clamping: storedAt), mark.generation, mark.number, mark.nonce, stamp,
      UInt64(row.count) << 32 | UInt64(payload.count),
    ]
    for number in numbers { bytes.append(highestFirst: number) }
    bytes.append(highestFirst: Self.seal(bytes.span, row.span))
    bytes += row
    return bytes
  }

  private static func seal(_ head: Span<UInt8>, _ row: Span<UInt8>) -> UInt64 {
    var seal = RowSeal()
    seal.add(head)
    seal.add(row)
    return seal.finish()
  }

  /// Whether bytes are the beginning of a value in a newer layout than `layout`.
  package static func isNewer(_ bytes: Span<UInt8>, than layout: UInt8) -> Bool {
    guard bytes.count > magic.utf8.count, bytes[magic.utf8.count] > layout else { return false }
    return magic.utf8.enumerated().allSatisfy { bytes[$0.offset] == $0.element }
  }

  /// The fields in the head of a value.
  package struct Head {
    fileprivate let layout: UInt8
    package let begunAt: Int64
    package let storedAt: Int64
    package let mark: FleetPosition
    package let stamp: UInt64
    let rowCount: Int
    package let bodyCount: Int
    fileprivate let seal: UInt64

    /// Nil for bytes that do not begin like a value in a layout that is known here.
    package init?(_ bytes: Span<UInt8>) {
      guard bytes.count >= headLength, 1...newestLayout ~= bytes[4] else { return nil }
      layout = bytes[4]
      let front = Array(magic.utf8) + [layout, 0, 0, 0]
      guard front.indices.allSatisfy({ bytes[$0] == front[$0] }) else { return nil }
      begunAt = Int64(clamping: number(bytes, 8))
      storedAt = Int64(clamping: number(bytes, 16))
      mark = FleetPosition(generation: number(bytes, 24), number: number(bytes, 32), nonce: number(bytes, 40))
      stamp = number(bytes, 48)
      let lengths = number(bytes, 56)
      (rowCount, bodyCount) = (Int(lengths >> 32), Int(lengths & 0xffff_ffff))
      seal = number(bytes, 64)
    }

    /// Whether all of its value is there, with so many bytes.
    func isOfValue(of count: Int) -> Bool {
      rowCount <= mostRowBytes && (bodyCount == 0) == (layout > 1) && count == headLength + rowCount + bodyCount
    }
  }

  /// Reads a value that was found under a digest, and verifies all of it.
  package static func decode(
    _ arrived: ArrivedValue, under digest: KeyDigest
  ) -> Result<FleetValue, FleetValueProblem> {
    let front = arrived.front
    guard let head = Head(front.span) else { return .failure(.foreign) }
    // Without memory for the picture, too.
    guard head.isOfValue(of: arrived.count), let payload = arrived.payload, payload.count == head.bodyCount else {
      return .failure(.damaged)
    }
    let whole = front.span
    guard seal(whole.extracting(0..<headLength - 8), whole.extracting(headLength..<whole.count)) == head.seal,
      let record = RecordCodec.decode(Array(front[headLength...])), record.bytes == head.bodyCount,
      (record.facts == .none) == (head.bodyCount == 0)
    else { return .failure(.damaged) }
    let named = KeyDigest(url: record.url, identifier: record.identifier, variant: record.variant)
    guard record.digest == digest, named == digest else { return .failure(.foreign) }
    guard arrived.checksum == record.checksum else { return .failure(.damaged) }
    return .success(
      FleetValue(
        begunAt: head.begunAt, storedAt: head.storedAt, mark: head.mark, stamp: head.stamp, record: record,
        payload: payload))
  }
}

/// Why bytes are not a value of a fleet.
package enum FleetValueProblem: Error {
  /// Something else has written them, or they belong under another key.
  case foreign
  case damaged
}

extension [UInt8] {
  fileprivate mutating func append(highestFirst number: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
  }
}

private func number(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
  (0..<8).reduce(0) { $0 << 8 | UInt64(bytes[offset + $1]) }
}
