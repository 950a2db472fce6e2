// A drawing is recognised by the root element of its document, and its size is what that element's attributes say:
// nothing behind them is read, and no entity is expanded. The decoder makes the drawing fit that size, whatever
// its library would have read into the same bytes.

/// Drawings in XML, in an encoding that has ASCII in it; neither UTF-16 nor compressed ones.
enum SVG {
  /// The root element has to end within as many bytes.
  static let mostBytes = 64 << 10
  /// CSS gives this size to what has none.
  private static let usual = (width: 300.0, height: 150.0)

  /// Whether the root element is that of a drawing, under any prefix.
  static func isDrawing(_ bytes: Span<UInt8>) -> Bool {
    var scanner = XMLScanner(bytes)
    return scanner.skipToRoot(in: bytes) && scanner.localName(in: bytes) == Array("svg".utf8)
  }

  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    var scanner = XMLScanner(bytes)
    _ = scanner.skipToRoot(in: bytes)
    _ = scanner.localName(in: bytes)
    var root = RootAttributes()
    while let attribute = scanner.attribute(in: bytes) { root.read(attribute, in: bytes) }
    guard scanner.isAtTagEnd(in: bytes) else {
      throw NotAPicture(
        reason: scanner.isAtEnd && bytes.count > mostBytes
          ? "SVG whose root element does not end within \(mostBytes) bytes" : "SVG whose root element is not whole")
    }
    let size = size(of: root)
    return PictureMeasures(format: .svg, width: pixels(size.width), height: pixels(size.height))
  }

  /// A side that is left open, or is a part of what the drawing is shown in, follows from the other and the proportions.
  private static func size(of root: RootAttributes) -> (width: Double, height: Double) {
    switch (root.width, root.height, root.viewBox) {
    case (let width?, let height?, _): (width, height)
    case (let width?, nil, let box?): (width, width / box.width * box.height)
    case (nil, let height?, let box?): (height / box.height * box.width, height)
    case (nil, nil, let box?): box
    case (let width, let height, nil): (width ?? usual.width, height ?? usual.height)
    }
  }

  /// Whole pixels, and one at least of what is larger than nothing.
  private static func pixels(_ length: Double) -> Int {
    guard length > 0 else { return 0 }
    return Int(max(1, min(length.rounded(), Double(Int32.max) + 1)))
  }
}

/// What the root element says about the size of a drawing; nil where it says nothing that can be read.
private struct RootAttributes {
  private(set) var width: Double?
  private(set) var height: Double?
  private(set) var viewBox: (width: Double, height: Double)?

  /// A value that is longer than this is no length.
  private static let longestValue = 256
  /// Pixels of each unit, as CSS has them. A font has its usual size.
  private static let units = [
    "": 1, "px": 1, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6, "pt": 96.0 / 72, "pc": 16, "em": 16,
    "ex": 8,
  ]

  mutating func read(_ attribute: XMLScanner.Attribute, in bytes: Span<UInt8>) {
    guard attribute.name.count <= 7, attribute.value.count <= Self.longestValue else { return }
    switch Self.text(attribute.name, of: bytes) {
    case "width": width = width ?? Self.length(Self.text(attribute.value, of: bytes))
    case "height": height = height ?? Self.length(Self.text(attribute.value, of: bytes))
    case "viewBox": viewBox = viewBox ?? Self.box(Self.text(attribute.value, of: bytes))
    default: break
    }
  }

  private static func text(_ range: Range<Int>, of bytes: Span<UInt8>) -> String {
    String(decoding: range.map { bytes[$0] }, as: UTF8.self)
  }

  private static func length(_ text: String) -> Double? {
    var numbers = NumberScanner(text)
    guard let number = numbers.next(), let unit = units[numbers.rest.lowercased()] else { return nil }
    let length = number * Double(unit)
    return length >= 0 ? length : nil
  }

  private static func box(_ text: String) -> (width: Double, height: Double)? {
    var numbers = NumberScanner(text)
    guard numbers.next() != nil, numbers.next() != nil, let width = numbers.next(), let height = numbers.next(),
      numbers.rest.isEmpty, width > 0, height > 0
    else { return nil }
    return (width, height)
  }
}

/// Numbers of a list, between blanks and commas.
private struct NumberScanner {
  private var left: Substring.UTF8View

  init(_ text: String) { left = Substring(text).utf8 }

  /// What is left, without blanks around it.
  var rest: String {
    var rest = left.drop(while: XMLScanner.isBlank)
    while let last = rest.last, XMLScanner.isBlank(last) { rest.removeLast() }
    return String(Substring(rest))
  }

  /// Digits with a sign, a point and an exponent as far as there are any; nil for anything else.
  mutating func next() -> Double? {
    left = left.drop { XMLScanner.isBlank($0) || $0 == UInt8(ascii: ",") }
    var end = left.startIndex
    func skipOne(of letters: String) {
      if end < left.endIndex, letters.utf8.contains(left[end]) { end = left.index(after: end) }
    }
    func skipDigits() { while end < left.endIndex, 48...57 ~= left[end] { end = left.index(after: end) } }
    skipOne(of: "+-")
    skipDigits()
    skipOne(of: ".")
    skipDigits()
    // Without digits behind it, the letter begins a unit.
    let mantissa = end
    skipOne(of: "eE")
    skipOne(of: "+-")
    let digits = end
    skipDigits()
    if end == digits { end = mantissa }
    guard let number = Double(String(Substring(left[..<end]))), number.isFinite else { return nil }
    left = left[end...]
    return number
  }
}

/// Reads the beginning of an XML document, up to the end of the tag of its root element. It moves forward only.
struct XMLScanner {
  /// An attribute as it is written.
  struct Attribute {
    let name: Range<Int>
    let value: Range<Int>
  }

  private var place = 0
  private let end: Int

  init(_ bytes: Span<UInt8>) { end = min(bytes.count, SVG.mostBytes) }

  var isAtEnd: Bool { place >= end }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  /// Moves to the name of the root element; false if something else stands in its place.
  mutating func skipToRoot(in bytes: Span<UInt8>) -> Bool {
    _ = skip("\u{FEFF}", in: bytes)
    while true {
      skipBlanks(in: bytes)
      if let isWhole = skipAside(in: bytes) {
        guard isWhole else { return false }
      } else if skip("<!DOCTYPE", in: bytes) {
        guard skipDeclaration(in: bytes) else { return false }
      } else {
        return skip("<", in: bytes)
      }
    }
  }

  /// Moves behind the name of an element, and returns it without its prefix.
  mutating func localName(in bytes: Span<UInt8>) -> [UInt8] {
    let name = name(in: bytes)
    let whole = name.map { bytes[$0] }
    return whole.lastIndex(of: UInt8(ascii: ":")).map { Array(whole[($0 + 1)...]) } ?? whole
  }

  /// The next attribute of the element; nil at the end of its tag, or where the tag is damaged.
  mutating func attribute(in bytes: Span<UInt8>) -> Attribute? {
    skipBlanks(in: bytes)
    let name = name(in: bytes)
    skipBlanks(in: bytes)
    guard !name.isEmpty, skip("=", in: bytes) else { return nil }
    skipBlanks(in: bytes)
    guard place < end else { return nil }
    let quote = bytes[place]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
    let start = place + 1
    guard skipQuoted(in: bytes) else { return nil }
    return Attribute(name: name, value: start..<place - 1)
  }

  func isAtTagEnd(in bytes: Span<UInt8>) -> Bool {
    guard place < end else { return false }
    return bytes[place] == UInt8(ascii: ">") || bytes[place] == UInt8(ascii: "/") && bytes.byte(at: place + 1) == 0x3E
  }

  private mutating func name(in bytes: Span<UInt8>) -> Range<Int> {
    let start = place
    while place < end, !Self.isBlank(bytes[place]), !"<>/=\"'".utf8.contains(bytes[place]) { place += 1 }
    return start..<place
  }

  private mutating func skipBlanks(in bytes: Span<UInt8>) {
    while place < end, Self.isBlank(bytes[place]) { place += 1 }
  }

  /// Moves behind these letters if they are here.
  private mutating func skip(_ letters: StaticString, in bytes: Span<UInt8>) -> Bool {
    guard holds(letters, in: bytes) else { return false }
    place += letters.utf8CodeUnitCount
    return true
  }

  private func holds(_ letters: StaticString, in bytes: Span<UInt8>) -> Bool {
    letters.withUTF8Buffer { letters in
      guard letters.count <= end - place else { return false }
      for index in letters.indices where unsafe letters[index] != bytes[place + index] { return false }
      return true
    }
  }

  /// Moves behind the next place where these letters are; false if there is none.
  private mutating func skip(past letters: StaticString, in bytes: Span<UInt8>) -> Bool {
    while place < end {
      if skip(letters, in: bytes) { return true }
      place += 1
    }
    return false
  }

  /// Moves behind a comment or an instruction; nil if neither is here, false if it has no end.
  private mutating func skipAside(in bytes: Span<UInt8>) -> Bool? {
    if skip("<!--", in: bytes) { return skip(past: "-->", in: bytes) }
    return skip("<?", in: bytes) ? skip(past: "?>", in: bytes) : nil
  }

  /// Moves behind a quoted text; false if it has no end.
  private mutating func skipQuoted(in bytes: Span<UInt8>) -> Bool {
    let quote = bytes[place]
    place += 1
    while place < end, bytes[place] != quote { place += 1 }
    guard place < end else { return false }
    place += 1
    return true
  }

  /// Moves behind a document type, with what it declares between brackets; false if it has no end.
  private mutating func skipDeclaration(in bytes: Span<UInt8>) -> Bool {
    var isInside = false
    while place < end {
      if let isWhole = skipAside(in: bytes) {
        guard isWhole else { return false }
        continue
      }
      switch bytes[place] {
      case UInt8(ascii: "\""), UInt8(ascii: "'"):
        guard skipQuoted(in: bytes) else { return false }
        continue
      case UInt8(ascii: "["): isInside = true
      case UInt8(ascii: "]"): isInside = false
      case UInt8(ascii: ">") where !isInside:
        place += 1
        return true
      default: break
      }
      place += 1
    }
    return false
  }
}
