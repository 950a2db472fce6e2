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

  /// Fields that this process has in the kept form already.
  init(kept: [UInt8]) { self.kept = kept }

  /// Fields in the form of a file; nil when they make no sense.
  init?(packed: [UInt8]) {
    guard let list = HeaderPacking.list(of: packed) else { return nil }
    self.init(list)
  }

  package init(_ list: HeaderList) {
    var writer = HeaderWriter()
    for (name, value) in list { writer.put(name, value) }
    kept = writer.exactBytes
  }

  /// The fields as they were stored.
  package var list: HeaderList {
    var list: HeaderList = []
    var reader = HeaderReader(kept)
    while let field = reader.next() { list.append(field) }
    return list
  }

  /// The value of the first field with a name.
  func value(of name: String) -> String? {
    var reader = HeaderReader(kept)
    while let field = reader.next() { if field.name == name { return field.value } }
    return nil
  }

  /// The fields in the form of a file.
  var packed: [UInt8] { HeaderPacking.packed(list) }
}

// MARK: What is kept of a message

extension StoredHeaders {
  /// Fields about one connection alone, or for one proxy (RFC 9111, 3.1), which mean nothing to
  /// later readers of the answer.
  private static let hopByHop: Set = [
    "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]
  /// Fields meant for the one client that asked, which has no use for them here: the daemon has no
  /// cookies. Later readers of the answer must not see them.
  private static let personal: Set = ["set-cookie", "set-cookie2", "authentication-info"]
  private static let neverKept = hopByHop.union(personal)
  /// Fields that decide how an answer is used later.
  private static let needed: Set = [
    "age", "cache-control", "content-type", "date", "etag", "expires", "last-modified", "location", "pragma", "vary",
  ]
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
    let nominated = Set(list.filter { $0.name == "connection" }.flatMap { names(in: $0.value) }).subtracting(needed)
    return list.filter { !neverKept.contains($0.name) && !nominated.contains($0.name) }
  }

  /// The fields that fit within a limit, in their order; if not all do, those that are needed later take
  /// precedence.
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
