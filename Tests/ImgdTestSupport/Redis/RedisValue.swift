/// An answer of a redis-server.
package enum RedisValue: Equatable, Sendable {
  case bytes([UInt8])
  case number(Int)
  case nothing
  case list([RedisValue])
  /// A word such as `OK`.
  case word(String)
  case failure(String)

  /// The value as a text; nil for anything but bytes and words.
  package var text: String? {
    switch self {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .word(let text): text
    default: nil
    }
  }

  /// The bytes of a value; nil for anything else.
  package var bytes: [UInt8]? {
    if case .bytes(let bytes) = self { bytes } else { nil }
  }

  /// The values of a list; nil for anything else.
  package var list: [RedisValue]? {
    if case .list(let values) = self { values } else { nil }
  }

  /// Reads one value from the front; nil while it is not there in full.
  package static func parse(_ bytes: ArraySlice<UInt8>) -> (
    value: RedisValue, rest: ArraySlice<UInt8>
  )? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\r")), end + 1 < bytes.endIndex,
      let kind = bytes.first
    else { return nil }
    let text = String(decoding: bytes[(bytes.startIndex + 1)..<end], as: UTF8.self)
    let rest = bytes[(end + 2)...]
    switch kind {
    case UInt8(ascii: "+"): return (.word(text), rest)
    case UInt8(ascii: "-"): return (.failure(text), rest)
    case UInt8(ascii: ":"): return (.number(Int(text) ?? 0), rest)
    case UInt8(ascii: "$"): return bulk(Int(text) ?? -1, rest)
    default: return list(Int(text) ?? -1, rest)
    }
  }

  private static func bulk(
    _ count: Int, _ rest: ArraySlice<UInt8>
  ) -> (value: RedisValue, rest: ArraySlice<UInt8>)? {
    guard count >= 0 else { return (.nothing, rest) }
    guard rest.count >= count + 2 else { return nil }
    return (.bytes(Array(rest.prefix(count))), rest.dropFirst(count + 2))
  }

  private static func list(
    _ count: Int, _ rest: ArraySlice<UInt8>
  ) -> (value: RedisValue, rest: ArraySlice<UInt8>)? {
    guard count >= 0 else { return (.nothing, rest) }
    var (values, rest): ([RedisValue], ArraySlice<UInt8>) = ([], rest)
    for _ in 0..<count {
      guard let next = parse(rest) else { return nil }
      values.append(next.value)
      rest = next.rest
    }
    return (.list(values), rest)
  }
}
