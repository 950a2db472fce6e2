internal import ImgdText

/// Header fields of an HTTP message in their order, with names in lower case.
package typealias HeaderList = [(name: String, value: String)]

/// Header fields in one piece of memory, for keeping.
///
/// A list of fields costs an allocation for every value; a hundred thousand entries with a dozen
/// fields each would hold a million strings that are hardly ever looked at. Names that most origins
/// send take one byte: otherwise a small picture's fields would be half of what it takes.
package struct StoredHeaders: Sendable {
  /// For each field the number of its name, or the number zero and the name, followed by its value.
  let kept: [UInt8]

  init(kept: [UInt8]) { self.kept = kept }

  /// Fields in the form of a file; nil when they make no sense.
  init?(packed: [UInt8]) {
    var reader = ByteReader(packed[...])
    var writer = HeaderWriter()
    while !reader.isAtEnd {
      let name = String(decoding: reader.part(), as: UTF8.self)
      writer.put(name, String(decoding: reader.part(), as: UTF8.self))
    }
    guard !reader.hasFailed else { return nil }
    kept = writer.exactBytes
  }

  package init(_ list: HeaderList) {
    var writer = HeaderWriter()
    for (name, value) in list { writer.put(name, value) }
    kept = writer.exactBytes
  }

  package var list: HeaderList {
    var list: HeaderList = []
    var reader = HeaderReader(kept)
    while let field = reader.next() { list.append(field) }
    return list
  }

  func value(of name: String) -> String? {
    var reader = HeaderReader(kept)
    while let field = reader.next() { if field.name == name { return field.value } }
    return nil
  }

  /// The fields in the form of a file.
  var packed: [UInt8] {
    guard !kept.isEmpty else { return [] }
    var writer = ByteWriter(capacity: 3 * kept.count + 128)
    var reader = HeaderReader(kept)
    while reader.copyNext(to: &writer) {}
    return writer.bytes
  }
}

// MARK: What is kept of a message

extension StoredHeaders {
  /// Fields about one connection alone, or for one proxy (RFC 9111, 3.1), which mean nothing to
  /// later readers of the answer.
  private static let hopByHop = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
  /// Fields meant for the one client that asked, which has no use for them here: the daemon has no
  /// cookies. Later readers of the answer must not see them.
  private static let personal = ["set-cookie", "set-cookie2", "authentication-info"]
  private static let neverKept = FieldNames(hopByHop + personal)
  /// Fields that decide how an answer is used later.
  private static let needed = FieldNames([
    "age", "cache-control", "content-type", "date", "etag", "expires", "last-modified", "location", "pragma", "vary",
  ])
  /// The most bytes of fields that are kept with a picture: more than honest origins send, and little
  /// beside a picture.
  package static let mostKept = 8 << 10
  /// Fields about the bytes as they are stored; a confirmation brings no bytes.
  private static let aboutTheBytes: Set = ["content-encoding", "content-length", "content-range", "content-type"]
  /// Fields about one message that mean nothing for the next one.
  private static let aboutTheMessage: Set = ["age", "date"]

  /// The fields of a message that belong to the answer itself.
  ///
  /// Fields that decide how the answer is used are kept even if `Connection` names them (RFC 9110, 7.6.1): naming
  /// `Cache-Control` there must not lift what it forbids.
  package static func storable(_ list: HeaderList) -> HeaderList {
    // Nearly all origins name nothing but `keep-alive` there.
    var nominated: Set<String> = []
    for field in list where field.name == "connection" && field.value != "keep-alive" {
      for name in names(in: field.value) where !needed.contains(name) && !neverKept.contains(name) {
        nominated.insert(name)
      }
    }
    var kept: HeaderList = []
    kept.reserveCapacity(list.count)
    for field in list where !neverKept.contains(field.name) && (nominated.isEmpty || !nominated.contains(field.name)) {
      kept.append(field)
    }
    return kept
  }

  /// The fields that fit within a limit, in their order; if not all do, those that are needed later take precedence.
  package static func fitting(_ list: HeaderList, within most: Int = mostKept) -> HeaderList {
    guard list.reduce(0, { $0 + packedCount($1) }) > most else { return list }
    var room = most
    var kept = [Bool](repeating: false, count: list.count)
    for isNeeded in [true, false] {
      for (place, field) in list.enumerated() where needed.contains(field.name) == isNeeded {
        guard packedCount(field) <= room else { continue }
        room -= packedCount(field)
        kept[place] = true
      }
    }
    return zip(list, kept).filter(\.1).map(\.0)
  }

  /// Whether all fields that are needed later can be kept: without them an answer is not stored.
  package static func haveRoom(_ list: HeaderList, within most: Int = mostKept) -> Bool {
    list.reduce(0) { needed.contains($1.name) ? $0 + packedCount($1) : $0 } <= most
  }

  private static func packedCount(_ field: (name: String, value: String)) -> Int {
    8 + field.name.utf8.count + field.value.utf8.count
  }

  /// Whether a confirmation names the same target as this answer, or none.
  package func haveTarget(of fresh: HeaderList) -> Bool {
    guard let target = fresh.first(where: { $0.name == "location" }) else { return true }
    return value(of: "location") == target.value
  }

  /// Whether a confirmation is about this answer (RFC 9111, 4.3.4): with another validator it is about
  /// another answer, and the stored one has to be fetched anew.
  ///
  /// A strong tag has to be the same, a weak one the same but for the mark; if this answer has no tag, the date of
  /// the last change decides.
  package func areConfirmed(by fresh: HeaderList) -> Bool {
    let own = list
    switch (Self.value(of: "etag", in: own), Self.value(of: "etag", in: fresh)) {
    case (let own?, let tag?): return tag.hasPrefix("W/") ? Self.opaque(own) == Self.opaque(tag) : own == tag
    case (_?, nil): return true
    case (nil, let tag):
      guard let date = Self.value(of: "last-modified", in: fresh) else { return tag == nil }
      return date == Self.value(of: "last-modified", in: own)
    }
  }

  /// A tag without the mark of a weak one.
  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// The fields after the origin has confirmed the answer (RFC 9111, 3.2): those of the
  /// confirmation replace the old ones, except those about the bytes.
  ///
  /// A confirmation of another answer changes nothing.
  package func confirmed(with fresh: HeaderList) -> HeaderList {
    guard areConfirmed(by: fresh) else { return list }
    let replacing = Self.storable(fresh).filter { !Self.aboutTheBytes.contains($0.name) }
    let replaced = Self.aboutTheMessage.union(replacing.map(\.name))
    return list.filter { !replaced.contains($0.name) } + replacing
  }

  private static func value(of name: String, in list: HeaderList) -> String? { list.first { $0.name == name }?.value }

  /// The tokens of a list that has only tokens: quotes hide none of them.
  private static func names(in value: String) -> [String] {
    var scanner = FieldScanner(value)
    var names: [String] = []
    repeat {
      scanner.skipBlanks()
      names.append(scanner.takeArgument().lowercased())
    } while scanner.takeByte(UInt8(ascii: ","))
    return names
  }
}

/// Writes header fields in the form in which `StoredHeaders` keeps them in memory; no file has this form.
struct HeaderWriter {
  private var bytes: [UInt8] = []

  /// With room for the fields of most answers.
  init() { bytes.reserveCapacity(256) }

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

  mutating func next() -> (name: String, value: String)? {
    guard offset < bytes.count else { return nil }
    let number = byte()
    let name = number == 0 ? text() : HeaderNames.name(number)
    return (name, text())
  }

  /// Copies the next field as files have it; false at the end.
  mutating func copyNext(to writer: inout ByteWriter) -> Bool {
    guard offset < bytes.count else { return false }
    let number = byte()
    if number == 0 { copyText(to: &writer) } else { writer.put(HeaderNames.bytes(of: number)) }
    copyText(to: &writer)
    return true
  }

  private mutating func number(bytes count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(byte()) << (8 * $1) } }

  private mutating func byte() -> UInt8 {
    defer { offset += 1 }
    return bytes[offset]
  }

  private mutating func text() -> String {
    switch part() {
    case .date(let seconds): HTTPDate.text(seconds)
    case .text(let range): String(decoding: bytes[range], as: UTF8.self)
    }
  }

  private mutating func copyText(to writer: inout ByteWriter) {
    switch part() {
    case .date(let seconds): writer.put(HTTPDate.bytes(seconds))
    case .text(let range): writer.put(bytes[range])
    }
  }

  private enum Part {
    case date(Int64)
    case text(Range<Int>)
  }

  private mutating func part() -> Part {
    let first = byte()
    if first == HeaderMark.date { return .date(Int64(number(bytes: 5))) }
    let count = first == HeaderMark.long ? number(bytes: 4) : Int(first)
    defer { offset += count }
    return .text(offset..<offset + count)
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
  private static let names = FieldNames(all)
  private static let bytes = all.map { Array($0.utf8) }

  static func number(of name: String) -> UInt8? { names.place(of: name).map { UInt8($0 + 1) } }

  static func name(_ number: UInt8) -> String { all[Int(number) - 1] }

  static func bytes(of number: UInt8) -> [UInt8] { bytes[Int(number) - 1] }
}

/// Some names of header fields in lower case. They are found by their length: then at most a few have to be compared,
/// which costs a tenth of a hash.
private struct FieldNames {
  private var places: [[(name: String, place: Int)]] = []

  init(_ names: [String]) {
    for (place, name) in names.enumerated() {
      let count = name.utf8.count
      while places.count <= count { places.append([]) }
      places[count].append((name, place))
    }
  }

  /// The place of a name in the list; nil where it is not there.
  func place(of name: String) -> Int? {
    let count = name.utf8.count
    guard count < places.count else { return nil }
    return places[count].first { $0.name == name }?.place
  }

  func contains(_ name: String) -> Bool { place(of: name) != nil }
}

/// Header fields as files have them: names and values in turn, each preceded by its length in four bytes.
enum HeaderPacking {
  /// The value of the first field with a name in lower case, found without making a list.
  static func value(of name: String, in packed: [UInt8]) -> String? {
    var reader = ByteReader(packed[...])
    while !reader.isAtEnd {
      let isIt = reader.part().elementsEqual(name.utf8)
      let value = reader.part()
      if isIt, !reader.hasFailed { return String(decoding: value, as: UTF8.self) }
    }
    return nil
  }
}
