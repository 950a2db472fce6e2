import ImgdCache

/// A URL with a place for the path and the query of another one: `https://mirror.example.net{path}`.
package struct FallbackURL: Sendable, Equatable {
  static let place = "{path}"

  package let text: String
  /// What it is for the path `/path`.
  let example: CanonicalURL
  private let beginning: String
  private let end: String

  /// Nil for a text that is no such URL.
  package init?(_ text: String) {
    guard let parts = Self.parts(of: text),
      let example = try? CanonicalURL.parse(parts.beginning + "/path" + parts.end)
    else { return nil }
    self.example = example
    self.text = text
    (beginning, end) = parts
  }

  private static func parts(of text: String) -> (beginning: String, end: String)? {
    let bytes = Array(text.utf8)
    let place = Array(place.utf8)
    let starts = bytes.indices.filter { bytes[$0...].starts(with: place) }
    guard starts.count == 1, let start = starts.first else { return nil }
    let beginning = String(decoding: bytes[..<start], as: UTF8.self)
    return (beginning, String(decoding: bytes[(start + place.count)...], as: UTF8.self))
  }

  /// The URL in place of another one; nil if it would be too long.
  func url(for url: CanonicalURL) -> CanonicalURL? { try? CanonicalURL.parse(beginning + url.pathAndQuery + end) }
}
