internal import ImgdCache
internal import ImgdSystem

/// Tells replies apart in the bytes that a server sends, which may be cut anywhere and be anything (RESP, version 2).
///
/// It holds no more than one reply, and takes memory for what has come, not for what is announced.
struct ReplyReader {
  struct Problem: Error, Equatable {
    let text: String

    init(_ text: String) { self.text = text }
  }

  private static let mostElements = 1_024
  private static let mostNesting = 7
  private static let longestLine = 16 * 1024
  /// A string of this length is kept as a value where one is asked for.
  static let longString = 16 * 1024
  private static let longestFailure = 300
  private static let (carriageReturn, lineFeed) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

  private struct OpenList {
    var left: Int
    var parts: [RedisReply] = []
  }

  private struct OpenString {
    /// The bytes that are still to come, without the end of the line.
    var left: Int
    /// Nil for a value.
    var bytes: [UInt8]?
    var value: ArrivingValue?
  }

  /// Lists that have begun, each a part of the one before it.
  private var lists: [OpenList] = []
  private var string: OpenString?
  /// The beginning of a line.
  private var line: [UInt8] = []
  /// How many bytes of the reply have come, or will come at least.
  private var used = 0

  /// Whether a part of a reply has come.
  var isWithinReply: Bool { used > 0 }

  /// Reads on from `start`, to the end of a reply or, without one, to the end of the bytes. A reply of more than `most`
  /// bytes is a problem. With `asValue`, a long string is a value.
  mutating func next(
    in bytes: Span<UInt8>, from start: inout Int, most: Int, asValue: Bool
  ) throws(Problem) -> RedisReply? {
    while start < bytes.count {
      if string != nil { readString(bytes, &start) }
      guard string?.left ?? 0 == 0, try readLine(bytes, &start, most) else { return nil }
      if let part = try part(most, asValue: asValue), let reply = add(part) { return reply }
    }
    return nil
  }

  // MARK: Lines

  /// Reads to the end of a line; false if it has not come.
  private mutating func readLine(_ bytes: Span<UInt8>, _ start: inout Int, _ most: Int) throws(Problem) -> Bool {
    while start < bytes.count {
      let byte = bytes[start]
      start += 1
      used += 1
      if byte == Self.lineFeed {
        guard line.popLast() == Self.carriageReturn else { throw Problem("a line without its end was sent") }
        return true
      }
      guard line.last != Self.carriageReturn else { throw Problem("a line without its end was sent") }
      line.append(byte)
      guard line.count <= Self.longestLine else { throw Problem("a line without end was sent") }
      guard used <= most else { throw Self.tooLong(most) }
    }
    return false
  }

  private static func tooLong(_ most: Int) -> Problem { Problem("an answer of more than \(most) bytes was sent") }

  /// What a line says; nil where it opens something.
  private mutating func part(_ most: Int, asValue: Bool) throws(Problem) -> RedisReply? {
    defer { line.removeAll(keepingCapacity: true) }
    if let string = string.take() {
      guard line.isEmpty else { throw Problem("a string was longer than its length") }
      if let value = string.value { return .value(value.finish()) }
      return .bytes(string.bytes ?? [])
    }
    guard let kind = line.first else { throw Problem("an empty line was sent") }
    switch kind {
    case UInt8(ascii: "+"): return .word(text)
    case UInt8(ascii: "-"): return .failure(printable(text, longest: Self.longestFailure))
    case UInt8(ascii: ":"): return .number(try number())
    case UInt8(ascii: "$"): return try openString(most, asValue: asValue)
    case UInt8(ascii: "*"): return try openList()
    default: throw Problem("an answer of a kind that does not exist was sent")
    }
  }

  private var text: String { String(decoding: line[1...], as: UTF8.self) }

  private func number() throws(Problem) -> Int64 {
    let isNegative = line.count > 1 && line[1] == UInt8(ascii: "-")
    let digits = line[(isNegative ? 2 : 1)...]
    guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let number = Int64(text)
    else { throw Problem("a number was sent that is none") }
    return number
  }

  /// The length of a string or list; nil for one that does not exist.
  private func length() throws(Problem) -> Int? {
    let length = try number()
    guard length >= -1 else { throw Problem("a length was sent that is none") }
    return length < 0 ? nil : Int(length)
  }

  // MARK: Strings

  private mutating func openString(_ most: Int, asValue: Bool) throws(Problem) -> RedisReply? {
    guard let length = try length() else { return .nothing }
    guard length <= most - used else { throw Self.tooLong(most) }
    let isValue = asValue && lists.isEmpty && length >= Self.longString
    string = OpenString(
      left: length, bytes: isValue ? nil : [], value: isValue ? ArrivingValue(count: length) : nil)
    return nil
  }

  private mutating func readString(_ bytes: Span<UInt8>, _ start: inout Int) {
    guard let left = string?.left, left > 0 else { return }
    let count = min(left, bytes.count - start)
    let part = bytes.extracting(start..<start + count)
    if let value = string?.value {
      value.append(part)
    } else {
      // The bytes are copied at once.
      unsafe part.withUnsafeBufferPointer { unsafe string?.bytes?.append(contentsOf: $0) }
    }
    string?.left -= count
    start += count
    used += count
  }

  // MARK: Lists

  private mutating func openList() throws(Problem) -> RedisReply? {
    guard let length = try length() else { return .nothing }
    guard length > 0 else { return .list([]) }
    guard length <= Self.mostElements else {
      throw Problem("a list of \(length) parts was sent; \(Self.mostElements) are the most")
    }
    guard lists.count < Self.mostNesting else { throw Problem("lists within lists were sent, too deep") }
    lists.append(OpenList(left: length))
    return nil
  }

  /// Adds a part to the list that it belongs to; returns what is then whole.
  private mutating func add(_ part: RedisReply) -> RedisReply? {
    var part = part
    while !lists.isEmpty {
      let last = lists.count - 1
      lists[last].parts.append(part)
      lists[last].left -= 1
      guard lists[last].left == 0 else { return nil }
      part = .list(lists.removeLast().parts)
    }
    used = 0
    return part
  }
}
