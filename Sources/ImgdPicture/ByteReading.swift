enum ByteOrder { case big, little }

/// Numbers read from untrusted bytes: an offset outside gives nil, never a trap. Numbers of up to 32 bits are
/// returned as `Int`, so adding one to an offset inside the bytes cannot overflow; a 64-bit number is returned only
/// if it fits, and must be compared before it is added.
extension Span<UInt8> {
  func byte(at offset: Int) -> Int? {
    guard offset >= 0, offset < count else { return nil }
    return Int(self[offset])
  }

  func big16(at offset: Int) -> Int? {
    guard holds(2, at: offset) else { return nil }
    return Int(self[offset]) << 8 | Int(self[offset + 1])
  }

  func big32(at offset: Int) -> Int? {
    guard holds(4, at: offset) else { return nil }
    return Int(self[offset]) << 24 | Int(self[offset + 1]) << 16 | Int(self[offset + 2]) << 8 | Int(self[offset + 3])
  }

  func little16(at offset: Int) -> Int? { big16(at: offset).map { Int(UInt16($0).byteSwapped) } }

  func little24(at offset: Int) -> Int? {
    guard holds(3, at: offset) else { return nil }
    return Int(self[offset]) | Int(self[offset + 1]) << 8 | Int(self[offset + 2]) << 16
  }

  func little32(at offset: Int) -> Int? { big32(at: offset).map { Int(UInt32($0).byteSwapped) } }

  func read16(at offset: Int, _ order: ByteOrder) -> Int? { order == .big ? big16(at: offset) : little16(at: offset) }

  func read32(at offset: Int, _ order: ByteOrder) -> Int? { order == .big ? big32(at: offset) : little32(at: offset) }

  func read64(at offset: Int, _ order: ByteOrder) -> Int? {
    guard holds(8, at: offset), let first = read32(at: offset, order), let second = read32(at: offset + 4, order) else {
      return nil
    }
    let (high, low) = order == .big ? (first, second) : (second, first)
    return high > Int(Int32.max) ? nil : high << 32 | low
  }

  func fourCC(at offset: Int) -> FourCC? { big32(at: offset).map { FourCC(code: $0) } }

  private func holds(_ size: Int, at offset: Int) -> Bool { offset >= 0 && offset <= count - size }
}

/// The four-letter name of a chunk, box or brand.
struct FourCC: Equatable, Sendable, ExpressibleByStringLiteral {
  let code: Int

  init(code: Int) { self.code = code }

  init(stringLiteral letters: StaticString) {
    code = letters.withUTF8Buffer { unsafe $0.reduce(0) { $0 << 8 | Int($1) } }
  }

  /// The letters for a message, with dots for unprintable bytes.
  var text: String {
    let letters = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: code >> $0) }
    return String(decoding: letters.map { (0x20..<0x7F).contains($0) ? $0 : 0x2E }, as: UTF8.self)
  }
}

/// A box of the ISO family of formats: a name and the range of its content.
struct Box {
  let name: FourCC
  /// Within the bytes, even when the box claims to be longer.
  let body: Range<Int>
}

/// Goes from box to box in a range, and never into one: a caller begins another walk for the content
/// of a box, so the depth is fixed by the code and not by the bytes.
struct BoxWalk {
  /// The most boxes of one level that are looked at; large photo files have a few hundred.
  private static let mostBoxes = 100_000

  private var offset: Int
  private let end: Int
  private var boxesLeft = mostBoxes

  init(_ range: Range<Int>) {
    offset = range.lowerBound
    end = range.upperBound
  }

  /// The next box; nil at the end, at the limit, and at a box that is shorter than its own header.
  mutating func next(in bytes: Span<UInt8>) -> Box? {
    guard boxesLeft > 0, offset <= end - 8, let short = bytes.big32(at: offset), let name = bytes.fourCC(at: offset + 4)
    else { return nil }
    boxesLeft -= 1
    // 0 means up to the end, 1 that a size of 64 bits follows the name.
    let header = short == 1 ? 16 : 8
    let size = short == 1 ? bytes.read64(at: offset + 8, .big) : short == 0 ? end - offset : short
    guard let size, size >= header, header <= end - offset else { return nil }
    let boxEnd = offset + min(size, end - offset)
    defer { offset = boxEnd }
    return Box(name: name, body: (offset + header)..<boxEnd)
  }

  static func first(_ name: FourCC, in range: Range<Int>, of bytes: Span<UInt8>) -> Range<Int>? {
    var walk = BoxWalk(range)
    while let box = walk.next(in: bytes) { if box.name == name { return box.body } }
    return nil
  }

  /// Follows a path of first boxes, such as from a track down to its sample sizes.
  static func first(at path: [FourCC], in range: Range<Int>, of bytes: Span<UInt8>) -> Range<Int>? {
    var place = range
    for name in path {
      guard let body = first(name, in: place, of: bytes) else { return nil }
      place = body
    }
    return place
  }
}

extension Range<Int> {
  /// The rest of a box's body after fields of a fixed length.
  func dropping(_ length: Int) -> Range<Int> { Swift.min(lowerBound + length, upperBound)..<upperBound }
}
