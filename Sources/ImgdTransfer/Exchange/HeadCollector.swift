/// Collects the head of a response from its lines. A connection may carry several heads before a body (100 Continue,
/// 103 Early Hints): a new status line starts over. Lines after the head are trailers, which are not used. All of
/// them together are bounded: curl keeps every line in memory until its handle is used again.
struct HeadCollector {
  /// Enough for every honest origin.
  static let mostBytes = 64 * 1024
  static let mostLines = 200
  private static let usualLines = 16

  enum Problem {
    case tooLong
    /// Two lengths for one body: where it ends would be a guess (RFC 9112, section 6.3).
    case contradictoryLengths
  }

  private(set) var status = 0
  private(set) var isComplete = false
  private(set) var problem: Problem?
  /// The location that the response redirects to, in ASCII.
  private(set) var location: String?
  private(set) var bytes = 0
  private var lines = 0
  private var fields: [HeaderField] = []

  /// Adds one line, with or without its line end; true when it ends the final head.
  mutating func add(_ line: Span<UInt8>) -> Bool {
    var end = line.count
    while end > 0, line[end - 1] == UInt8(ascii: "\n") || line[end - 1] == UInt8(ascii: "\r") { end -= 1 }
    bytes += line.count
    if end > 0 { lines += 1 }
    if bytes > Self.mostBytes || lines > Self.mostLines { problem = .tooLong }
    guard !isComplete, problem == nil else { return false }
    if end == 0 {
      isComplete = status >= 200
      if isComplete, !hasOneLength { problem = .contradictoryLengths }
      return isComplete
    }
    if let status = Self.status(line) {
      self.status = status
      fields = []
      location = nil
    } else {
      takeField(line.extracting(0..<end))
    }
    return false
  }

  /// Whether all lengths are the same. Nearly every head has one.
  private var hasOneLength: Bool {
    var count = 0
    for field in fields where field.name == "content-length" {
      count += field.value.utf8.contains(UInt8(ascii: ",")) ? 2 : 1
    }
    return count < 2 || Set(list("content-length").map { Int($0) }).count == 1
  }

  /// Whether the body is the requested one; redirects and errors carry bodies too.
  var isSuccess: Bool { (200..<300).contains(status) && status != 206 }

  var head: ResponseHead {
    // No hashing: few heads have more than a dozen names, none more than `mostLines`.
    var joined: [HeaderField] = []
    joined.reserveCapacity(fields.count)
    for field in fields {
      if let place = joined.firstIndex(where: { $0.name == field.name }) {
        joined[place] = HeaderField(field.name, "\(joined[place].value), \(field.value)")
      } else {
        joined.append(field)
      }
    }
    return ResponseHead(status: status, headers: joined)
  }

  /// The first value of a field; two values must not be joined where one is expected.
  func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The members of a field that is a list, in lower case.
  func list(_ name: String) -> [String] {
    fields.filter { $0.name == name }.flatMap { field in
      field.value.utf8.split(separator: UInt8(ascii: ",")).map { member in
        HeaderText.text(of: Array(member).span).lowercased()
      }
    }
  }

  /// The head of a body that began with the head `start` and is continued with this one: new fields
  /// replace the earlier ones, and the length is that of the whole body.
  func continuing(_ start: HeadCollector, total: Int) -> HeadCollector {
    let names = Set(fields.map(\.name)).union(Self.aboutOnePart)
    var whole = start
    whole.bytes = bytes
    whole.lines = lines
    whole.fields.removeAll { names.contains($0.name) }
    whole.fields += fields.filter { !Self.aboutOnePart.contains($0.name) }
    whole.fields.append(HeaderField("content-length", "\(total)"))
    return whole
  }

  private static let aboutOnePart: Set<String> = ["content-length", "content-range", "transfer-encoding"]

  private mutating func takeField(_ line: Span<UInt8>) {
    guard let colon = line.indices.first(where: { line[$0] == UInt8(ascii: ":") }) else { return }
    let name = HeaderText.text(of: line.extracting(0..<colon)).lowercased()
    guard !name.isEmpty else { return }
    let value = line.extracting(colon + 1..<line.count)
    if fields.isEmpty { fields.reserveCapacity(Self.usualLines) }
    fields.append(HeaderField(name, HeaderText.text(of: value)))
    if name == "location", location == nil { location = HeaderText.reference(in: value) }
  }

  /// Reads the status of a line such as `HTTP/1.1 200 OK` or `HTTP/2 200`.
  private static func status(_ line: Span<UInt8>) -> Int? {
    guard line.count >= 10, line[0] == UInt8(ascii: "H"), HeaderText.text(of: line.extracting(0..<5)) == "HTTP/",
      let blank = (5..<line.count).first(where: { line[$0] == UInt8(ascii: " ") }), blank + 4 <= line.count
    else { return nil }
    return Int(HeaderText.text(of: line.extracting(blank + 1..<blank + 4))).flatMap { 100...999 ~= $0 ? $0 : nil }
  }
}

/// Reads names and values in a head, without the blanks around them.
enum HeaderText {
  /// Most bytes beyond ASCII are UTF-8; others are read as Latin-1, in which every byte is a character, so that none is
  /// lost.
  static func text(of bytes: Span<UInt8>) -> String {
    let bytes = bytes.extracting(core(of: bytes))
    if let valid = try? UTF8Span(validating: bytes) { return String(copying: valid) }
    return String(String.UnicodeScalarView(bytes.indices.map { UnicodeScalar(bytes[$0]) }))
  }

  /// The text of a URL, with bytes beyond ASCII percent-encoded, as they go over the wire.
  static func reference(in bytes: Span<UInt8>) -> String {
    core(of: bytes).reduce(into: "") { text, place in
      let byte = bytes[place]
      text += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
    }
  }

  /// What is left without the blanks around it.
  private static func core(of bytes: Span<UInt8>) -> Range<Int> {
    var start = 0
    var end = bytes.count
    while start < end, isBlank(bytes[start]) { start += 1 }
    while end > start, isBlank(bytes[end - 1]) { end -= 1 }
    return start..<end
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
