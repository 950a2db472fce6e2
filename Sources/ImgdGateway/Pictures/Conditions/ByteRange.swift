/// The part of a picture that a request asks for (RFC 9110, 14.2).
enum ByteRange: Equatable {
  /// There is no such part, or the picture is not served in parts.
  case whole
  case part(Range<Int>)
  /// The part begins after the end.
  case unsatisfiable

  /// Reads the values of `Range`; one part is served, several at once are not.
  init(_ values: [String], of count: Int) {
    guard values.count == 1, let spec = Self.spec(values[0]) else {
      self = .whole
      return
    }
    switch spec {
    case .from(let first, let last): self = first < count ? .part(first..<min(last, count - 1) + 1) : .unsatisfiable
    case .last(let length): self = length > 0 ? .part(count - min(length, count)..<count) : .unsatisfiable
    }
  }

  private enum Spec {
    case from(Int, through: Int)
    case last(Int)
  }

  /// `bytes=0-499`, `bytes=500-` or `bytes=-500`; nil for anything else.
  private static func spec(_ text: String) -> Spec? {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
    let ends = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    guard !ends[0].isEmpty else { return number(ends[1]).map { .last($0) } }
    guard let first = number(ends[0]) else { return nil }
    guard !ends[1].isEmpty else { return .from(first, through: .max - 1) }
    guard let last = number(ends[1]), last >= first else { return nil }
    return .from(first, through: min(last, .max - 1))
  }

  /// Digits and nothing else; a number that is too large becomes the largest there is.
  private static func number(_ text: Substring) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    return Int(text) ?? .max
  }
}
