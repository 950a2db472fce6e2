// A client's lines differ in nothing but their ids and URLs. So a line of a known shape need not be parsed: its fixed
// bytes are compared, and between them lie an id and a URL.
//
//   {"id":7,"cmd":"fetch","url":"http://h/a.png","deliver":"none"}
//   └head┘ └──── middle ───────┘              └────── tail ──────┘
//
// A shape is learnt from a line that was parsed. Put another id in the place of its id, and another text
// that needs no escape in the place of its URL, and the parser finds the same request with these: nothing
// else of the line depends on them. An id or a URL that is written in an unusual way fits no shape.

/// A fetch's line without its id and its URL.
package final class LineShape: Sendable {
  /// Longer shapes are not worth their memory.
  static let longest = 512

  /// The places of an id and a URL in a line.
  package struct Parts: Equatable, Sendable {
    /// The id as it is written, with the quotes of a string; empty where there is none.
    package let id: Range<Int>
    /// The URL without its quotes.
    package let url: Range<Int>
  }

  private enum Order {
    case urlAlone, idFirst, urlFirst
  }

  /// The request of such a line, without its URL.
  package let request: FetchRequest
  package let wantsPath: Bool
  /// Head, middle and tail.
  private let fixed: [UInt8]
  private let headEnd: Int
  private let middleEnd: Int
  private let order: Order

  /// Learns from a line; nil for one that is not a fetch, or is written in an unusual way.
  package init?(_ line: Span<UInt8>) {
    var fields = RequestFields()
    guard case .request(.fetch(var request)) = RequestParser.parse(line).outcome,
      (try? fields.scan(line)) != nil
    else { return nil }
    request.url = ""
    self.request = request
    wantsPath = request.delivery == .path
    let url = fields.token(.url).range
    let hasID = fields.present.contains(.id)
    let id = hasID ? fields.token(.id).sourceRange : 0..<0
    order = !hasID ? .urlAlone : id.lowerBound < url.lowerBound ? .idFirst : .urlFirst
    let (first, second) =
      switch order {
      case .urlAlone: (url, url.upperBound..<url.upperBound)
      case .idFirst: (id, url)
      case .urlFirst: (url, id)
      }
    let middle = first.upperBound..<second.lowerBound
    headEnd = first.lowerBound
    middleEnd = headEnd + middle.count
    guard middleEnd + line.count - second.upperBound <= Self.longest else { return nil }
    var fixed: [UInt8] = []
    fixed.appendBytes(line.extracting(0..<headEnd))
    fixed.appendBytes(line.extracting(middle))
    fixed.appendBytes(line.extracting(second.upperBound..<line.count))
    self.fixed = fixed
    guard parts(of: line) == Parts(id: id, url: url) else { return nil }
  }

  /// The bytes of memory that the shape takes.
  package var cost: Int { fixed.count + 192 }

  /// The places of the id and the URL in a line of this shape; nil for any other line.
  package func parts(of line: Span<UInt8>) -> Parts? {
    // Both buffers are read only below their counts, and only during this call.
    unsafe line.withUnsafeBufferPointer { line in
      unsafe fixed.withUnsafeBufferPointer { fixed in unsafe parts(of: line, fixed) }
    }
  }

  @inline(__always)
  private func parts(
    of line: UnsafeBufferPointer<UInt8>, _ fixed: UnsafeBufferPointer<UInt8>
  ) -> Parts? {
    let tail = line.count - (fixed.count - middleEnd)
    guard tail > middleEnd, unsafe line.has(fixed, 0..<headEnd, at: 0),
      unsafe line.has(fixed, middleEnd..<fixed.count, at: tail)
    else { return nil }
    let middle = headEnd..<middleEnd
    let parts: Parts
    switch order {
    case .urlAlone: parts = Parts(id: 0..<0, url: headEnd..<tail)
    case .idFirst:
      guard let end = unsafe WrittenID.end(in: line, from: headEnd), end + middle.count < tail,
        unsafe line.has(fixed, middle, at: end)
      else { return nil }
      parts = Parts(id: headEnd..<end, url: end + middle.count..<tail)
    case .urlFirst:
      guard let start = unsafe WrittenID.start(in: line, before: tail),
        headEnd + middle.count < start,
        unsafe line.has(fixed, middle, at: start - middle.count)
      else { return nil }
      parts = Parts(id: start..<tail, url: headEnd..<start - middle.count)
    }
    return unsafe line.isPlain(parts.url) ? parts : nil
  }
}

/// Shapes are equal if their fixed bytes are equal and the id and the URL have the same places between them.
extension LineShape: Hashable {
  package static func == (left: LineShape, right: LineShape) -> Bool {
    left === right
      || left.order == right.order && left.headEnd == right.headEnd
        && left.middleEnd == right.middleEnd && left.fixed == right.fixed
  }

  /// Hashes what `==` compares.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(order)
    hasher.combine(headEnd)
    hasher.combine(middleEnd)
    hasher.combine(fixed)
  }
}

// The callers have made sure that all loads are below the count.
extension UnsafeBufferPointer<UInt8> {
  /// Whether these bytes have `part` of others at an offset; both must be long enough.
  @inline(__always)
  fileprivate func has(
    _ other: UnsafeBufferPointer<UInt8>, _ part: Range<Int>, at offset: Int
  ) -> Bool {
    let (count, start) = (part.count, part.lowerBound)
    // The last word may overlap the one before it, so that no byte is left over.
    if count >= 8 {
      var index = 0
      var difference: UInt64 = 0
      while index <= count &- 8 {
        difference |= unsafe word(offset &+ index) ^ other.word(start &+ index)
        index &+= 8
      }
      let rest = count &- 8
      return unsafe difference | (word(offset &+ rest) ^ other.word(start &+ rest)) == 0
    }
    if count >= 4 {
      let rest = count &- 4
      return unsafe half(offset) == other.half(start)
        && half(offset &+ rest) == other.half(start &+ rest)
    }
    for index in 0..<count {
      guard unsafe self[offset &+ index] == other[start &+ index] else { return false }
    }
    return true
  }

  /// Whether a part, of at least one byte, is the text of a string that is written without any escape.
  @inline(__always)
  fileprivate func isPlain(_ part: Range<Int>) -> Bool {
    guard part.count >= 8 else {
      return part.allSatisfy { unsafe PlainText.isPlain(self[$0]) }
    }
    let last = part.upperBound &- 8
    var marks: UInt64 = 0
    var index = part.lowerBound
    while index < last {
      marks |= unsafe PlainText.marks(word(index))
      index &+= 8
    }
    return unsafe (marks | PlainText.marks(word(last))) & PlainText.tops == 0
  }

  @inline(__always)
  private func word(_ offset: Int) -> UInt64 {
    unsafe UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  @inline(__always)
  private func half(_ offset: Int) -> UInt32 {
    unsafe UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}
