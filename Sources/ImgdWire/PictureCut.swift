// Which part of a picture is wanted, and what lies behind it.

extension PictureForm {
  /// The part of the picture that `cover` keeps.
  package enum Crop: Hashable, Sendable {
    case centre
    /// What draws the eye.
    case attention
    /// The point that comes as near to the middle as the picture allows.
    case point(x: Fraction, y: Fraction)
  }

  /// A part of the upright picture, in pixels or in fractions of its sides, which is cut out before anything else.
  package enum Area: Hashable, Sendable {
    case pixels(x: Int, y: Int, width: Int, height: Int)
    case fractions(x: Fraction, y: Fraction, width: Fraction, height: Fraction)
    /// So many pixels, of which a crop says the place.
    case around(Crop, width: Int, height: Int)
  }

  /// Pixels on each side.
  package struct Padding: Hashable, Sendable {
    package let top: Int
    package let right: Int
    package let bottom: Int
    package let left: Int

    package init(top: Int, right: Int, bottom: Int, left: Int) {
      (self.top, self.right, self.bottom, self.left) = (top, right, bottom, left)
    }

    package static let names = ["top", "right", "bottom", "left"]
    package static let range = 0...10_000

    package var sides: [Int] { [top, right, bottom, left] }
  }

  /// A colour in sRGB, not premultiplied by its alpha.
  package struct Background: Hashable, Sendable {
    package let red: UInt8
    package let green: UInt8
    package let blue: UInt8
    package let alpha: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }
  }
}

/// A part of a side. It is kept in whole millionths, so that equal wishes are equal in every way in which they can be
/// written; a millionth of the longest side is less than a tenth of a pixel.
package struct Fraction: Hashable, Sendable {
  package let millionths: Int

  /// A number of any size, which need not be a fraction of anything.
  package init(_ number: Double) {
    millionths = number.isNaN ? -1 : Int((min(max(number, -9), 9) * 1_000_000).rounded())
  }

  /// The shortest decimal number, which always has a point.
  package var text: String {
    let (whole, rest) = abs(millionths).quotientAndRemainder(dividingBy: 1_000_000)
    // A digit before them keeps the zeros at the beginning.
    var digits = Array(String(1_000_000 + rest).utf8.dropFirst())
    while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return (millionths < 0 ? "-" : "") + String(whole) + "." + String(decoding: digits, as: UTF8.self)
  }
}

/// A number as it was written: whether it has a point or an exponent decides what it counts.
struct WrittenNumber {
  let value: Double
  let isWhole: Bool

  init?(_ json: JSONValue?) {
    switch json {
    case .integer(let number): (value, isWhole) = (Double(number), true)
    // Beyond 64 bits a whole number is one of these as well, and no fraction is as large.
    case .number(let number): (value, isWhole) = (number, number.magnitude >= 0x1p63)
    default: return nil
    }
  }

  /// Digits, and a point with digits after it or none.
  init?(_ text: Substring.UTF8View) {
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard text.count <= 24, parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { 48...57 ~= $0 } }),
      let number = Double(String(Substring(text)))
    else { return nil }
    (value, isWhole) = (number, parts.count == 1)
  }

  /// The numbers of a text such as `0.4,0.3`; nil unless there are as many.
  static func list(_ text: String, count: Int) -> [WrittenNumber]? {
    let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    guard parts.count == count else { return nil }
    let numbers = parts.compactMap { WrittenNumber($0) }
    return numbers.count == count ? numbers : nil
  }
}

/// A number that does not fit: its name, and what would be right.
package struct NumberProblem: Error, Equatable {
  package let name: String
  package let wanted: String
}

extension PictureForm.Crop {
  /// The words that stand for a part.
  package static let words = ["centre", "attention"]
  package static let wanted = "centre, attention or a point in fractions of the sides such as 0.4,0.3"

  /// `centre`, `attention`, or the fractions of a point: `0.4,0.3`.
  package init?(_ text: String) {
    switch text {
    case "centre": self = .centre
    case "attention": self = .attention
    default:
      guard let numbers = WrittenNumber.list(text, count: 2), let point = try? Self.point(numbers[0], numbers[1]) else {
        return nil
      }
      self = point
    }
  }

  static func point(_ x: WrittenNumber, _ y: WrittenNumber) throws(NumberProblem) -> PictureForm.Crop {
    for (name, number) in [("x", x), ("y", y)] where !(0...1 ~= number.value) {
      throw NumberProblem(name: name, wanted: "a fraction from 0.0 to 1.0")
    }
    return .point(x: Fraction(x.value), y: Fraction(y.value))
  }

  /// The text that stands for it.
  package var text: String {
    switch self {
    case .centre: "centre"
    case .attention: "attention"
    case .point(let x, let y): "\(x.text),\(y.text)"
    }
  }
}

extension PictureForm.Area {
  package static let names = ["x", "y", "width", "height"]
  package static let wanted =
    "x, y, width and height such as 10,20,300,200, in pixels, or in fractions if one of them has a point"

  /// The four numbers with commas between them.
  package init(_ text: String) throws(NumberProblem) {
    guard let numbers = WrittenNumber.list(text, count: 4) else { throw NumberProblem(name: "", wanted: Self.wanted) }
    try self.init(numbers)
  }

  /// `x`, `y`, `width` and `height`: fractions if one of them is written as one.
  init(_ numbers: [WrittenNumber]) throws(NumberProblem) {
    let isRelative = numbers.contains { !$0.isWhole }
    for (name, number) in zip(Self.names, numbers) {
      let least = name == "x" || name == "y" ? 0.0 : isRelative ? 0.000_001 : 1
      guard least...(isRelative ? 1 : Double(WireLimits.side.upperBound)) ~= number.value else {
        throw NumberProblem(name: name, wanted: Self.wanted(least, isRelative))
      }
    }
    if isRelative {
      let fractions = numbers.map { Fraction($0.value) }
      for place in 0...1 {
        let left = 1_000_000 - fractions[place].millionths
        // Thirds may add up to a little more.
        guard fractions[place + 2].millionths <= left + 2 else {
          throw NumberProblem(
            name: Self.names[place + 2], wanted: "no more than what \(Self.names[place]) leaves of the side")
        }
      }
      self = .fractions(x: fractions[0], y: fractions[1], width: fractions[2], height: fractions[3])
    } else {
      let sides = numbers.map { Int($0.value) }
      self = .pixels(x: sides[0], y: sides[1], width: sides[2], height: sides[3])
    }
  }

  private static func wanted(_ least: Double, _ isRelative: Bool) -> String {
    guard isRelative else { return "a whole number of pixels from \(Int(least)) to \(WireLimits.side.upperBound)" }
    let start = least > 0 ? "above 0.0, up" : "from 0.0"
    return "a fraction \(start) to 1.0, since one of the four has a point or an exponent"
  }

  /// The four numbers as they are written.
  package var texts: [String] {
    switch self {
    case .pixels(let x, let y, let width, let height): [x, y, width, height].map { String($0) }
    case .fractions(let x, let y, let width, let height): [x, y, width, height].map { $0.text }
    case .around(_, let width, let height): [width, height].map { String($0) }
    }
  }
}

extension PictureForm.Background {
  package static let wanted = "#rrggbb or #rrggbbaa"

  /// Reads the form of CSS, `#rrggbb` or `#rrggbbaa`.
  package init?(_ text: String) {
    let digits = text.utf8.dropFirst().compactMap { Hexadecimal.value(of: $0) }
    let count = text.utf8.count
    guard text.utf8.first == UInt8(ascii: "#"), count == 7 || count == 9, digits.count == count - 1 else { return nil }
    let parts = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    self.init(red: parts[0], green: parts[1], blue: parts[2], alpha: parts.count == 4 ? parts[3] : 255)
  }

  package var text: String {
    var letters = Array("#".utf8)
    for part in alpha == 255 ? [red, green, blue] : [red, green, blue, alpha] {
      letters += [Hexadecimal.digit(part >> 4), Hexadecimal.digit(part)]
    }
    return String(decoding: letters, as: UTF8.self)
  }
}
