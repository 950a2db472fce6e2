// A client's lines differ in nothing but their ids, URLs and receipts, and the entity tags that they have. So a line of
// a known shape need not be parsed: its fixed bytes are compared, and between them lie these parts.
//
//   {"cmd":"fetch","id":7,"url":"http://h/a.png","deliver":"none","receipt":"5d0c9b7e-…"}
//   └────── front ──────┘ └─┘                  └────────────── back ──────────────────┘
//
// A shape is learnt from a line that was parsed. Put another id in the place of its id, another text that needs
// no escape in the place of its URL, another UUID in the place of its receipt, and another tag between the quotes of
// its tag, and the parser finds the same request with these: nothing else of the line depends on them. A line in which
// one of them is written in an unusual way fits no shape.

/// The line of a fetch without its id, its URL, its receipt and its tag.
package final class LineShape: Sendable {
  /// Longer shapes are not worth their memory.
  static let longest = 512

  /// The parts that vary in a line.
  package struct Parts: Equatable, Sendable {
    /// The id as it is written, with the quotes of a string; empty where there is none.
    package internal(set) var id = 0..<0
    /// The URL without its quotes.
    package internal(set) var url = 0..<0
    package internal(set) var receipt: ReceiptID?
    /// The entity tag of the version that the client has, without its quotes; empty where it names none.
    package internal(set) var tag = 0..<0
  }

  /// Fixed bytes and what comes after them, on the way from one end of the line to the URL.
  private struct Step: Hashable {
    enum Part { case id, receipt, tag, url }

    var fixed = 0..<0
    var part = Part.url
  }

  /// The steps in order; those after the one that leads to the URL are unused.
  private typealias Steps = InlineArray<4, Step>

  private let fixed: [UInt8]
  /// The way from the beginning of the line to the URL, which is the only part that does not show where it ends.
  private let front: Steps
  /// The way from the end of the line to the URL.
  private let back: Steps
  /// How a hit of such a line is shown.
  package let showing: FetchRequest.Showing
  /// The form in which such a line wants the picture.
  package let form: PictureForm
  /// The tags that such a line adds to the picture.
  package let tags: [String]

  /// Learns from a line; nil for one that is not a fetch, or is written in an unusual way.
  package init?(_ line: Span<UInt8>) {
    var fields = RequestFields()
    guard case .request(.fetch(let request)) = RequestParser.parse(line).outcome, (try? fields.scan(line)) != nil else {
      return nil
    }
    var parts = Parts(url: fields.token(.url).range, receipt: request.receipt)
    var varying = [(place: parts.url, part: Step.Part.url)]
    if fields.present.contains(.id) {
      parts.id = fields.token(.id).sourceRange
      varying.append((parts.id, .id))
    }
    if fields.present.contains(.receipt) { varying.append((fields.token(.receipt).range, .receipt)) }
    if !request.headers.isEmpty {
      // Whether a version is up to date is a question about the picture as its origin sends it.
      guard request.form.isOriginal, request.delivery != .pixels,
        let tag = WrittenTag.place(in: line, fields.token(.headers).range, request)
      else { return nil }
      parts.tag = tag
      varying.append((tag, .tag))
    }
    varying.sort { $0.place.lowerBound < $1.place.lowerBound }
    var bytes: [UInt8] = []
    var pieces: [Range<Int>] = []
    var place = 0
    for next in varying.map({ $0.place }) + [line.count..<line.count] {
      let start = bytes.count
      bytes.appendBytes(line.extracting(place..<next.lowerBound))
      pieces.append(start..<bytes.count)
      place = next.upperBound
    }
    let url = varying.firstIndex { $0.part == .url } ?? 0
    fixed = bytes
    var (front, back) = (Steps(repeating: Step()), Steps(repeating: Step()))
    for place in 0...url { front[place] = Step(fixed: pieces[place], part: varying[place].part) }
    for place in url..<varying.count {
      back[varying.count - 1 - place] = Step(fixed: pieces[place + 1], part: varying[place].part)
    }
    (self.front, self.back) = (front, back)
    showing = request.showing
    form = request.form
    tags = request.tags
    guard bytes.count <= Self.longest, self.parts(of: line) == parts else { return nil }
  }

  /// The bytes of memory that the shape takes.
  package var cost: Int { fixed.count + 480 }

  /// The varying parts of a line of this shape; nil for any other line.
  package func parts(of line: Span<UInt8>) -> Parts? {
    // Both buffers are read only below their counts, and only during this call.
    unsafe line.withUnsafeBufferPointer { line in
      unsafe fixed.withUnsafeBufferPointer { fixed in unsafe parts(of: line, fixed) }
    }
  }

  @inline(__always) private func parts(of line: UnsafeBufferPointer<UInt8>, _ fixed: UnsafeBufferPointer<UInt8>)
    -> Parts?
  {
    var parts = Parts()
    var (start, end) = (0, line.count)
    front: for index in front.indices {
      let step = front[index]
      let next = start &+ step.fixed.count
      guard next <= end, unsafe line.has(fixed, step.fixed, at: start) else { return nil }
      start = next
      switch step.part {
      case .url: break front
      case .id:
        guard let next = unsafe WrittenID.end(in: line, from: start) else { return nil }
        parts.id = start..<next
        start = next
      case .receipt:
        guard unsafe line.readReceipt(start..<start + ReceiptID.textLength, &parts.receipt) else { return nil }
        start += ReceiptID.textLength
      case .tag:
        let next = unsafe WrittenTag.end(in: line, from: start)
        guard next > start else { return nil }
        parts.tag = start..<next
        start = next
      }
    }
    back: for index in back.indices {
      let step = back[index]
      let next = end &- step.fixed.count
      guard next >= start, unsafe line.has(fixed, step.fixed, at: next) else { return nil }
      end = next
      switch step.part {
      case .url: break back
      case .id:
        guard let next = unsafe WrittenID.start(in: line, before: end) else { return nil }
        parts.id = next..<end
        end = next
      case .receipt:
        guard unsafe line.readReceipt(end - ReceiptID.textLength..<end, &parts.receipt) else { return nil }
        end -= ReceiptID.textLength
      case .tag:
        let next = unsafe WrittenTag.start(in: line, before: end)
        guard next < end else { return nil }
        parts.tag = next..<end
        end = next
      }
    }
    guard start < end else { return nil }
    parts.url = start..<end
    return unsafe line.isPlain(parts.url) ? parts : nil
  }
}

/// Shapes are equal if their fixed bytes are equal and the same parts have the same places between them.
extension LineShape: Hashable {
  package static func == (left: LineShape, right: LineShape) -> Bool {
    left === right || left.steps == right.steps && left.fixed == right.fixed
  }

  /// Hashes what `==` compares.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(steps)
    hasher.combine(fixed)
  }

  private var steps: [Step] { front.indices.map { front[$0] } + back.indices.map { back[$0] } }
}

// The callers have made sure that all loads are below the count.
extension UnsafeBufferPointer<UInt8> {
  /// Whether these bytes have `part` of `other` at an offset; both must be long enough.
  @inline(__always) fileprivate func has(_ other: UnsafeBufferPointer<UInt8>, _ part: Range<Int>, at offset: Int)
    -> Bool
  {
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
      return unsafe half(offset) == other.half(start) && half(offset &+ rest) == other.half(start &+ rest)
    }
    for index in 0..<count { guard unsafe self[offset &+ index] == other[start &+ index] else { return false } }
    return true
  }

  /// Reads the receipt at a place; false if there is none, or if the place goes beyond either end.
  @inline(__always) fileprivate func readReceipt(_ place: Range<Int>, _ receipt: inout ReceiptID?) -> Bool {
    guard place.lowerBound >= 0, place.upperBound <= count else { return false }
    receipt = unsafe ReceiptID(Span(_unsafeElements: extracting(place)))
    return receipt != nil
  }

  /// Whether a part, of at least one byte, is the text of a string that is written without any escape.
  @inline(__always) fileprivate func isPlain(_ part: Range<Int>) -> Bool {
    guard part.count >= 8 else { return part.allSatisfy { unsafe PlainText.isPlain(self[$0]) } }
    let last = part.upperBound &- 8
    var marks: UInt64 = 0
    var index = part.lowerBound
    while index < last {
      marks |= unsafe PlainText.marks(word(index))
      index &+= 8
    }
    return unsafe (marks | PlainText.marks(word(last))) & PlainText.tops == 0
  }

  @inline(__always) private func word(_ offset: Int) -> UInt64 {
    unsafe UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  @inline(__always) private func half(_ offset: Int) -> UInt32 {
    unsafe UnsafeRawBufferPointer(self).loadUnaligned(fromByteOffset: offset, as: UInt32.self)
  }
}

/// The entity tags in which nothing has to be escaped.
enum WrittenTag {
  private static let longest = 128

  /// The place of the tag in the headers of a request that names one version in If-None-Match and has no other header.
  static func place(in line: Span<UInt8>, _ headers: Range<Int>, _ request: FetchRequest) -> Range<Int>? {
    guard request.headers.count == 1, request.headers[0].name.lowercased() == "if-none-match" else { return nil }
    let text = line.extracting(headers)
    // The tag's own quotes are the only ones that are escaped.
    let quotes = text.indices.dropLast().filter { text[$0] == UInt8(ascii: "\\") }
    guard quotes.count == 2, quotes.allSatisfy({ text[$0 + 1] == UInt8(ascii: "\"") }) else { return nil }
    let tag = headers.lowerBound + quotes[0] + 2..<headers.lowerBound + quotes[1]
    guard 1...longest ~= tag.count else { return nil }
    var written: [UInt8] = []
    written.appendBytes(line.extracting(tag))
    let value = request.headers[0].value
    let opaque = "\"" + String(decoding: written, as: UTF8.self) + "\""
    return value == opaque || value == "W/" + opaque ? tag : nil
  }

  /// The end of the tag that begins at an offset within a line, or before its end.
  @inline(__always) static func end(in line: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    let limit = min(line.count, start + longest)
    var index = start
    while index < limit, unsafe isPart(line[index]) { index += 1 }
    return index
  }

  /// The beginning of the tag that ends before an offset within a line.
  @inline(__always) static func start(in line: UnsafeBufferPointer<UInt8>, before end: Int) -> Int {
    let limit = max(0, end - longest)
    var index = end
    while index > limit, unsafe isPart(line[index - 1]) { index -= 1 }
    return index
  }

  @inline(__always) private static func isPart(_ byte: UInt8) -> Bool {
    byte &- 0x21 < 0x5E && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }
}

/// The ids that are echoed exactly as they are written: whole numbers of up to 18 digits, and strings without any
/// character that would be escaped.
enum WrittenID {
  private static let mostDigits = 18

  /// The end of the id that begins at an offset within a line.
  @inline(__always) static func end(in line: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
    // Only offsets below the line's length are read.
    var index = start
    guard index < line.count else { return nil }
    if unsafe line[index] == UInt8(ascii: "\"") {
      let limit = min(line.count, start + WireLimits.id + 2)
      index += 1
      while index < limit, unsafe isShown(line[index]) { index += 1 }
      return unsafe index < limit && line[index] == UInt8(ascii: "\"") ? index + 1 : nil
    }
    if unsafe line[index] == UInt8(ascii: "-") { index += 1 }
    let first = index
    while index < line.count, unsafe isDigit(line[index]) { index += 1 }
    return unsafe isNumber(line, first..<index, isNegative: first > start) ? index : nil
  }

  /// The beginning of the id that ends before an offset within a line.
  @inline(__always) static func start(in line: UnsafeBufferPointer<UInt8>, before end: Int) -> Int? {
    // Only offsets from zero to below `end` are read.
    var index = end
    guard index > 0, index <= line.count else { return nil }
    if unsafe line[index - 1] == UInt8(ascii: "\"") {
      let limit = max(1, end - WireLimits.id - 1)
      index -= 1
      while index > limit, unsafe isShown(line[index - 1]) { index -= 1 }
      return unsafe index >= limit && line[index - 1] == UInt8(ascii: "\"") ? index - 1 : nil
    }
    while index > 0, unsafe isDigit(line[index - 1]) { index -= 1 }
    let isNegative = unsafe index > 0 && line[index - 1] == UInt8(ascii: "-")
    guard unsafe isNumber(line, index..<end, isNegative: isNegative) else { return nil }
    return isNegative ? index - 1 : index
  }

  /// Whether some digits are a number as it is printed: `07` and `-0` are not.
  @inline(__always) private static func isNumber(
    _ line: UnsafeBufferPointer<UInt8>, _ digits: Range<Int>, isNegative: Bool
  ) -> Bool {
    guard !digits.isEmpty, digits.count <= mostDigits else { return false }
    return unsafe line[digits.lowerBound] != UInt8(ascii: "0") || (digits.count == 1 && !isNegative)
  }

  @inline(__always) private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Whether a byte stands for itself in a string of an answer; quotes end it.
  @inline(__always) private static func isShown(_ byte: UInt8) -> Bool {
    byte &- 0x20 < 0x5F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }
}
