/// The embedded description of a picture's colours.
enum ColourProfile {
  /// Whether the profile's name says that the colours are those of a screen: then there is nothing to convert, which
  /// would take longer than decoding the picture.
  static func isScreen(_ profile: [UInt8]) -> Bool {
    guard word(profile, 16) == 0x5247_4220,  // "RGB "
      let count = word(profile, 128), count <= 100,
      let entry = (0..<count).map({ 132 + 12 * $0 }).first(where: {
        word(profile, $0) == 0x6465_7363  // "desc"
      }), let start = word(profile, entry + 4)
    else { return false }
    switch word(profile, start) {
    case 0x6465_7363: return names.contains { holds(profile, Array($0.utf8), at: start + 12) }
    case 0x6D6C_7563:  // "mluc": the first of the translations, in letters of two bytes
      guard let offset = word(profile, start + 24) else { return false }
      return names.contains { name in holds(profile, name.utf8.flatMap { [0, $0] }, at: start + offset) }
    default: return false
    }
  }

  /// The beginnings of such names; all but the first are what libjxl calls sRGB.
  private static let names = ["sRGB", "RGB_D65_SRG_Rel_SRG", "RGB_D65_SRG_Per_SRG"]

  private static func holds(_ bytes: [UInt8], _ text: [UInt8], at start: Int) -> Bool {
    start <= bytes.count && bytes[start...].starts(with: text)
  }

  private static func word(_ bytes: [UInt8], _ start: Int) -> Int? {
    guard start <= bytes.count - 4 else { return nil }
    return (0..<4).reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
  }
}
