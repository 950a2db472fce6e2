/// Writes header fields as `StoredHeaders` keeps them in memory. No file has this form.
struct HeaderWriter {
  private var bytes: [UInt8] = []

  mutating func put(_ name: String, _ value: String) {
    if let number = HeaderNames.number(of: name) {
      bytes.append(number)
    } else {
      bytes.append(0)
      put(name)
    }
    put(value)
  }

  /// Without the room that an array keeps for growing.
  var exactBytes: [UInt8] {
    var exact: [UInt8] = []
    exact.reserveCapacity(bytes.count)
    exact.append(contentsOf: bytes)
    return exact
  }

  /// A text behind its length, in one byte if it is below 255, and in five otherwise.
  private mutating func put(_ text: String) {
    let count = text.utf8.count
    bytes.append(UInt8(clamping: count))
    if count >= 255 {
      for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: count >> shift)) }
    }
    bytes.append(contentsOf: text.utf8)
  }
}

/// Reads what a `HeaderWriter` of this process has written.
struct HeaderReader {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The next field; nil behind the last.
  mutating func next() -> (name: String, value: String)? {
    guard offset < bytes.count else { return nil }
    let number = byte()
    let name = number == 0 ? text() : HeaderNames.name(number)
    return (name, text())
  }

  private mutating func byte() -> UInt8 {
    defer { offset += 1 }
    return bytes[offset]
  }

  private mutating func text() -> String {
    var count = Int(byte())
    if count == 255 { count = [0, 8, 16, 24].reduce(0) { $0 | Int(byte()) << $1 } }
    defer { offset += count }
    return String(decoding: bytes[offset..<offset + count], as: UTF8.self)
  }
}

/// The names that origins of pictures send most, numbered from one on.
enum HeaderNames {
  private static let all = [
    "accept-ranges", "access-control-allow-origin", "access-control-expose-headers", "age",
    "alt-svc", "cache-control", "cf-cache-status", "cf-ray", "content-disposition",
    "content-encoding", "content-language", "content-length", "content-md5",
    "content-security-policy", "content-type", "cross-origin-resource-policy", "date", "etag",
    "expires", "last-modified", "nel", "pragma", "referrer-policy", "report-to", "server",
    "server-timing", "strict-transport-security", "timing-allow-origin", "vary", "via",
    "x-amz-request-id", "x-cache", "x-cache-hits", "x-content-type-options", "x-frame-options",
    "x-served-by", "x-timer", "x-xss-protection",
  ]
  private static let numbers = Dictionary(
    uniqueKeysWithValues: all.enumerated().map { ($1, UInt8($0 + 1)) })

  /// The number of a name; nil for one that is written out.
  static func number(of name: String) -> UInt8? { numbers[name] }

  static func name(_ number: UInt8) -> String { all[Int(number) - 1] }
}
