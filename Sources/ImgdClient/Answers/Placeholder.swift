internal import ImgdConnection
internal import ImgdSystem

/// A few bytes that stand for a picture until it can be shown.
public struct Placeholder: Hashable, Sendable {
  /// The size of the picture.
  public let width: Int
  public let height: Int
  /// A blurred picture of about 25 bytes: ThumbHash.
  public let thumbhash: [UInt8]
  /// The mean colour.
  public let average: Colour

  init?(_ reply: Reply) {
    guard let width = reply.number("width"), let height = reply.number("height"), let text = reply.text("thumbhash"),
      let thumbhash = Base64Decoder.bytes(text), let average = reply.text("average").flatMap({ Colour($0) })
    else { return nil }
    self.width = width
    self.height = height
    self.thumbhash = thumbhash
    self.average = average
  }
}

/// A colour in sRGB, not premultiplied by its alpha.
public struct Colour: Hashable, Sendable {
  public let red: UInt8
  public let green: UInt8
  public let blue: UInt8
  public let alpha: UInt8

  /// Reads the form of CSS: `#rrggbb` or `#rrggbbaa`.
  public init?(_ text: String) {
    let digits = text.utf8.dropFirst()
    guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6 || digits.count == 8,
      digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
      let number = UInt32(String(text.dropFirst()), radix: 16)
    else { return nil }
    let isOpaque = digits.count == 6
    let bits = isOpaque ? number << 8 | 0xff : number
    red = UInt8(bits >> 24)
    green = UInt8(bits >> 16 & 0xff)
    blue = UInt8(bits >> 8 & 0xff)
    alpha = UInt8(bits & 0xff)
  }
}
