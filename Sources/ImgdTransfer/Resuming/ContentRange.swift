/// Which part of a whole a 206 carries, out of its `Content-Range`: `bytes 600-999/1000`.
///
/// A total that the origin does not know (`*`) makes the range useless here: nobody could say when
/// the body is whole.
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
      let last = Self.number(&rest, endedBy: UInt8(ascii: "/")),
      let total = Self.number(&rest, endedBy: nil),
      first <= last, last < total
    else { return nil }
    self.first = first
    self.last = last
    self.total = total
  }

  /// Digits alone: `Int` would take a sign too.
  private static func number(_ rest: inout Substring.UTF8View, endedBy end: UInt8?) -> Int? {
    let digits = rest.prefix { (0x30...0x39).contains($0) }
    let behind = rest.dropFirst(digits.count)
    guard behind.first == end else { return nil }
    rest = behind.dropFirst()
    return Int(Substring(digits))
  }
}
