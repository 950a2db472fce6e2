import ImgdConnection
import ImgdSystem

/// Facts about an entry of the cache, as people read them.
enum EntryText {
  /// A field with its unit.
  static func value(_ field: String, of entry: Reply) -> String {
    guard let number = entry.number(field) else {
      let words = entry.texts(field)?.joined(separator: ", ")
      let text = printable(words ?? entry.display(field))
      return text.isEmpty ? "-" : text
    }
    switch field {
    case "bytes" where number >= 1024: return "\(number) (\(Quantity.size(number)))"
    case "age", "fresh_for": return Quantity.time(seconds: number)
    default: return "\(number)"
    }
  }

  /// The width and the height, as in `640x480`.
  static func dimensions(_ entry: Reply) -> String {
    guard let width = entry.number("width"), let height = entry.number("height") else { return "-" }
    return "\(width)x\(height)"
  }
}
