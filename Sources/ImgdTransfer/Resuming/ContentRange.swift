/// The `Content-Range` of a 206: `bytes 600-999/1000`.
///
/// A range without a total (`*`) is refused: the end of the body would be unknown.
struct ContentRange: Equatable {
  let first: Int
  let last: Int
  let total: Int

  var count: Int { last - first + 1 }

  init?(_ value: String) {
    let unit = value.utf8.prefix { $0 != UInt8(ascii: " ") }
    guard String(Substring(unit)).lowercased() == "bytes" else { return nil }
    var rest = value.utf8.dropFirst(unit.count).drop { $0 == UInt8(ascii: " ") }
    guard let first = Self.number(&rest, endedBy: UInt8(ascii: "-")),
      let last = Self.number(&rest, endedBy: UInt8(ascii: "/")), let total = Self.number(&rest, endedBy: nil),
      first <= last, last < total
    else { return nil }
    self.first = first
    self.last = last
    self.total = total
  }

  /// Only digits: `Int` would accept a sign.
  private static func number(_ rest: inout Substring.UTF8View, endedBy end: UInt8?) -> Int? {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    let after = rest.dropFirst(digits.count)
    guard after.first == end else { return nil }
    rest = after.dropFirst()
    return Int(Substring(digits))
  }
}
