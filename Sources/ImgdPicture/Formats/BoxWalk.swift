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
    let size = short == 1 ? bytes.big64(at: offset + 8) : short == 0 ? end - offset : short
    guard let size, size >= header, header <= end - offset else { return nil }
    let boxEnd = offset + min(size, end - offset)
    defer { offset = boxEnd }
    return Box(name: name, body: (offset + header)..<boxEnd)
  }

  /// The body of the first box of that name in a range.
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
