/// The encoding of purges in an `OwedFile`.
///
/// It leaves out rows and ceilings: nothing can be stored while purges are owed, so they cover everything that
/// is in the index file when it is next opened.
enum OwedCodec {
  private static let version: UInt8 = 1

  static func encode(_ orders: [RemovalOrder]) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(UInt64(0))
    writer.put(version)
    writer.put(UInt32(clamping: orders.count))
    for order in orders { put(order, into: &writer) }
    writer.seal()
    return writer.bytes
  }

  /// The purges in some bytes; empty when the bytes are not as `encode` makes them.
  static func decode(_ bytes: [UInt8]) -> [RemovalOrder] {
    var reader = ByteReader(bytes[...])
    guard reader.isSealed(), reader.number(UInt8.self) == version else { return [] }
    let count = reader.number(UInt32.self)
    var orders: [RemovalOrder] = []
    while orders.count < count, !reader.hasFailed { orders.append(order(from: &reader)) }
    return reader.hasFailed || !reader.isAtEnd ? [] : orders
  }

  private static func put(_ order: RemovalOrder, into writer: inout ByteWriter) {
    let filter = order.filter
    for text in [filter.url?.text, filter.identifier, filter.prefix, filter.host, filter.tag] { writer.put(text) }
    writer.put(filter.digest?.hex)
    for age in [filter.olderThan, filter.unusedFor] {
      writer.put(UInt8(age == nil ? 0 : 1))
      writer.put(age?.wholeSeconds ?? 0)
    }
    for flag in [filter.expired, order.isSoft] { writer.put(UInt8(flag ? 1 : 0)) }
    writer.put(order.askedAt)
    writer.put(order.keepUntil)
  }

  private static func order(from reader: inout ByteReader) -> RemovalOrder {
    var filter = PurgeFilter()
    filter.url = reader.optionalText().map { CanonicalURL(canonical: $0) }
    filter.identifier = reader.optionalText()
    filter.prefix = reader.optionalText()
    filter.host = reader.optionalText()
    filter.tag = reader.optionalText()
    if let digest = reader.optionalText() {
      // A condition that cannot be read must not count as a missing one.
      guard let known = KeyDigest(hex: digest) else {
        reader.fail()
        return RemovalOrder(filter, isSoft: true, askedAt: 0)
      }
      filter.digest = known
    }
    filter.olderThan = age(from: &reader)
    filter.unusedFor = age(from: &reader)
    filter.expired = reader.number(UInt8.self) == 1
    let isSoft = reader.number(UInt8.self) == 1
    let askedAt = reader.number(Int64.self)
    return RemovalOrder(filter, isSoft: isSoft, askedAt: askedAt, keepUntil: reader.number(Int64.self))
  }

  private static func age(from reader: inout ByteReader) -> Duration? {
    let isGiven = reader.number(UInt8.self) == 1
    let seconds = reader.number(Int64.self)
    return isGiven ? .seconds(min(max(seconds, -SaneRange.most), SaneRange.most)) : nil
  }
}
