internal import CCurl
import Glibc
internal import ImgdSystem

/// Collects the head of a response from its lines.
///
/// A connection may carry several heads before a body (100 Continue, 103 Early Hints): a new status
/// line starts over. Lines after the head are trailers, and ignored.
struct HeadCollector {
  /// Enough for every honest origin; further fields are left out.
  static let mostBytes = 64 * 1024
  static let mostFields = 200

  private(set) var status = 0
  private(set) var isComplete = false
  private var fields: [HeaderField] = []
  private var bytes = 0

  /// Adds one line, with or without its line end; true when it ends the final head.
  mutating func take(_ line: Span<UInt8>) -> Bool {
    guard !isComplete else { return false }
    let end = Self.end(of: line)
    if end == 0 {
      isComplete = status >= 200
      return isComplete
    }
    if let status = Self.status(line) {
      self = HeadCollector()
      self.status = status
    } else {
      takeField(line.extracting(0..<end))
    }
    return false
  }

  /// Whether the body is the requested one; redirects and errors carry bodies too.
  var isSuccess: Bool { (200..<300).contains(status) && status != 206 }

  /// The whole head, with the values of repeated fields joined.
  func head(finalURL: String?) -> ResponseHead {
    var order: [String] = []
    var values: [String: String] = [:]
    for field in fields {
      if let before = values[field.name] {
        values[field.name] = "\(before), \(field.value)"
      } else {
        order.append(field.name)
        values[field.name] = field.value
      }
    }
    let headers = order.map { HeaderField($0, values[$0] ?? "") }
    return ResponseHead(status: status, headers: headers, finalURL: finalURL)
  }

  /// The first value of a field; two locations or lengths must not be joined.
  func first(_ name: String) -> String? {
    fields.first { $0.name == name }?.value
  }

  /// The members of a field that is a list, in lower case.
  func list(_ name: String) -> [String] {
    fields.filter { $0.name == name }.flatMap { field in
      field.value.utf8.split(separator: UInt8(ascii: ",")).map { member in
        Self.text(Array(member).span).lowercased()
      }
    }
  }

  /// The head of a body that began with the head `start` and is continued with this one: new fields
  /// replace the earlier ones, and the length is that of the whole body.
  func continuing(_ start: HeadCollector, total: Int) -> HeadCollector {
    let names = Set(fields.map(\.name)).union(Self.aboutOnePart)
    var whole = start
    whole.fields.removeAll { names.contains($0.name) }
    whole.fields += fields.filter { !Self.aboutOnePart.contains($0.name) }
    whole.fields.append(HeaderField("content-length", "\(total)"))
    return whole
  }

  private static let aboutOnePart: Set<String> = [
    "content-length", "content-range", "transfer-encoding",
  ]

  private mutating func takeField(_ line: Span<UInt8>) {
    bytes += line.count
    guard bytes <= Self.mostBytes, fields.count < Self.mostFields,
      let colon = (0..<line.count).first(where: { line[$0] == UInt8(ascii: ":") })
    else { return }
    let name = Self.text(line.extracting(0..<colon)).lowercased()
    guard !name.isEmpty else { return }
    fields.append(HeaderField(name, Self.text(line.extracting(colon + 1..<line.count))))
  }

  /// `HTTP/1.1 200 OK` or `HTTP/2 200`.
  private static func status(_ line: Span<UInt8>) -> Int? {
    guard line.count >= 10, text(line.extracting(0..<5)) == "HTTP/",
      let blank = (5..<line.count).first(where: { line[$0] == UInt8(ascii: " ") }),
      blank + 4 <= line.count
    else { return nil }
    return Int(text(line.extracting(blank + 1..<blank + 4)))
  }

  private static func end(of line: Span<UInt8>) -> Int {
    var end = line.count
    while end > 0, line[end - 1] == UInt8(ascii: "\n") || line[end - 1] == UInt8(ascii: "\r") {
      end -= 1
    }
    return end
  }

  /// The text without the blanks around it.
  private static func text(_ bytes: Span<UInt8>) -> String {
    var start = 0
    var end = bytes.count
    while start < end, isBlank(bytes[start]) { start += 1 }
    while end > start, isBlank(bytes[end - 1]) { end -= 1 }
    return String(decoding: (start..<end).map { bytes[$0] }, as: UTF8.self)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }
}

/// The header that says when the origin accepts the next request.
enum RetryAfter {
  /// Longer delays are cut to a year, so that sums with them fit.
  private static let longest: Int64 = 366 * 86_400

  /// Reads seconds, or a date, which counts from `now` (seconds since 1970).
  static func delay(_ value: String?, now: Int64 = WallClock.seconds) -> Duration? {
    guard let value, !value.isEmpty else { return nil }
    if value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return .seconds(min(Int64(value) ?? longest, longest))
    }
    let date = unsafe curl_getdate(value, nil)
    guard date >= 0 else { return nil }
    return .seconds(min(max(Int64(date) - now, 0), longest))
  }
}
