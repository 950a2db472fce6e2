internal import ImgdText

/// Writes header fields in the form in which `StoredHeaders` keeps them in memory; no file has this form.
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

  /// The bytes in an array without spare room for growing.
  var exactBytes: [UInt8] {
    var exact: [UInt8] = []
    exact.reserveCapacity(bytes.count)
    exact.append(contentsOf: bytes)
    return exact
  }

  /// Writes a date in its usual form as five bytes of seconds, and any other text after its length, which takes
  /// one byte or five.
  private mutating func put(_ text: String) {
    if let seconds = HTTPDate.secondsOfUsualForm(text) {
      bytes.append(HeaderMark.date)
      return put(Int(seconds), bytes: 5)
    }
    let count = text.utf8.count
    if count < HeaderMark.date {
      bytes.append(UInt8(count))
    } else {
      bytes.append(HeaderMark.long)
      put(count, bytes: 4)
    }
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func put(_ number: Int, bytes count: Int) {
    for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * place))) }
  }
}

/// Values of a length's first byte that do not mean a length.
private enum HeaderMark {
  static let date: UInt8 = 254
  static let long: UInt8 = 255
}

/// Reads what a `HeaderWriter` of this process has written.
struct HeaderReader {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next field; nil after the last.
  mutating func next() -> (name: String, value: String)? {
    guard offset < bytes.count else { return nil }
    let number = byte()
    let name = number == 0 ? text() : HeaderNames.name(number)
    return (name, text())
  }

  private mutating func number(bytes count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(byte()) << (8 * $1) } }

  private mutating func byte() -> UInt8 {
    defer { offset += 1 }
    return bytes[offset]
  }

  private mutating func text() -> String {
    let first = byte()
    if first == HeaderMark.date { return HTTPDate.text(Int64(number(bytes: 5))) }
    let count = first == HeaderMark.long ? number(bytes: 4) : Int(first)
    defer { offset += count }
    return String(decoding: bytes[offset..<offset + count], as: UTF8.self)
  }
}

/// The names that origins of pictures send most often, numbered from 1.
enum HeaderNames {
  private static let all = [
    "accept-ranges", "access-control-allow-origin", "access-control-expose-headers", "age", "alt-svc", "cache-control",
    "cf-cache-status", "cf-ray", "content-disposition", "content-encoding", "content-language", "content-length",
    "content-md5", "content-security-policy", "content-type", "cross-origin-resource-policy", "date", "etag", "expires",
    "last-modified", "nel", "pragma", "referrer-policy", "report-to", "server", "server-timing",
    "strict-transport-security", "timing-allow-origin", "vary", "via", "x-amz-request-id", "x-cache", "x-cache-hits",
    "x-content-type-options", "x-frame-options", "x-served-by", "x-timer", "x-xss-protection",
  ]
  private static let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, UInt8($0 + 1)) })

  /// The number of a name; nil for one that is written out.
  static func number(of name: String) -> UInt8? { numbers[name] }

  static func name(_ number: UInt8) -> String { all[Int(number) - 1] }
}
