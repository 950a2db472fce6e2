internal import ImgdConnection
internal import ImgdSystem
internal import ImgdText
internal import ImgdWire

/// The header fields of an answer about a picture.
struct PictureHeaders {
  var facts: PictureFacts
  var status: CacheStatus
  /// Fields that every answer to this request has.
  let common: HTTPResponse.Fields
  /// How long the target stays valid at most, in seconds.
  var mostFresh: Int?
  var disposition = Disposition()
  /// The seconds since the daemon gave the picture.
  var held = 0

  var age: Int { facts.age + held }

  /// The fields of every answer to this request, with or without the picture.
  var own: HTTPResponse.Fields { common + [(CacheStatus.field, status.text)] }

  /// How long others may give the picture, in seconds since the daemon gave it.
  var freshFor: Int { min(facts.freshFor, max(mostFresh ?? .max, 0)) }

  var whole: HTTPResponse.Fields {
    [
      ("Content-Type", facts.type), ("Accept-Ranges", "bytes"), ("X-Content-Type-Options", "nosniff"),
      // Protects people who open the picture on its own.
      ("Content-Security-Policy", "default-src 'none'; sandbox"),
      ("Content-Disposition", disposition.text(for: facts.type)),
    ] + known
  }

  /// The fields for a client that has the picture (RFC 9110, 15.4.5).
  var known: HTTPResponse.Fields {
    var fields: HTTPResponse.Fields = [("Cache-Control", lifetime), ("Age", String(age))]
    if let tag = facts.tag { fields.append(("ETag", tag)) }
    if let modified = facts.modified { fields.append(("Last-Modified", HTTPDate.text(modified))) }
    return fields + own
  }

  /// `max-age` counts from the origin's answer, as `Age` does.
  private var lifetime: String {
    guard facts.mayBeKept else { return "no-store" }
    return "public, max-age=\(facts.age + freshFor)"
  }

  // MARK: Answers

  /// The whole picture, from a file that holds nothing else.
  func wholeResponse(
    _ file: consuming FileDescriptor?, status: Int = 200, adding further: HTTPResponse.Fields = []
  ) -> HTTPResponse { response(status, whole + further, file, 0..<facts.bytes) }

  func partResponse(_ range: Range<Int>, _ file: consuming FileDescriptor?) -> HTTPResponse {
    let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(facts.bytes)"
    return response(206, whole + [("Content-Range", place)], file, range)
  }

  var notModifiedResponse: HTTPResponse { HTTPResponse(status: 304, fields: known, body: .length(facts.bytes)) }

  private func response(
    _ status: Int, _ fields: HTTPResponse.Fields, _ file: consuming FileDescriptor?, _ range: Range<Int>
  ) -> HTTPResponse {
    guard let file = consume file else { preconditionFailure("an answer takes the picture once") }
    return HTTPResponse(status: status, fields: fields, body: .file(range), of: file)
  }
}

// The answers of `/info`, whose conditions and lifetime are those of the picture.
extension PictureHeaders {
  private static let told = ["format", "width", "height", "bytes", "frames", "thumbhash", "average"]

  /// The answer to a request for the facts: what describes the same bytes is alike, though it may lack what could not be
  /// made.
  func telling(_ reply: Reply) -> (headers: PictureHeaders, whole: HTTPResponse) {
    var writer = JSONWriter()
    writer.object(Self.told.compactMap { name in reply.members.first { $0.name == name } })
    writer.newline()
    var headers = self
    headers.facts.tag = facts.tag.map { "W/" + $0 }
    headers.facts.bytes = writer.bytes.count
    let fields = [("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff")] + headers.known
    return (headers, HTTPResponse(status: 200, fields: fields, body: .bytes(writer.bytes)))
  }
}

extension Disposition {
  /// The endings of files where they are not the name of the type, the usual one first.
  private static let endings = [
    "image/jpeg": ["jpg", "jpeg"], "image/tiff": ["tiff", "tif"], "image/vnd.microsoft.icon": ["ico"],
  ]

  /// The field's value (RFC 6266): a name beyond ASCII once more as those read it who know no other.
  func text(for type: String) -> String {
    let kind = isAttachment ? "attachment" : "inline"
    guard var name = filename else { return kind }
    let endings = Self.endings[type] ?? [String(type.dropFirst("image/".count))]
    if !endings.contains(where: { name.lowercased().hasSuffix("." + $0) }) { name += "." + endings[0] }
    let plain = name.unicodeScalars.map { $0.isASCII && $0 != "\"" && $0 != "%" ? Character($0) : "_" }
    guard name.unicodeScalars.contains(where: { !$0.isASCII || $0 == "\"" || $0 == "%" }) else {
      return "\(kind); filename=\"\(name)\""
    }
    var escaped: [UInt8] = []
    for byte in name.utf8 {
      if Self.isUnescaped(byte) { escaped.append(byte) } else { PercentEncoding.append(byte, to: &escaped) }
    }
    return "\(kind); filename=\"\(String(plain))\"; filename*=UTF-8''\(String(decoding: escaped, as: UTF8.self))"
  }

  private static func isUnescaped(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 48...57: true
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
    default: false
    }
  }
}

/// All that an HTTP answer says about a picture, as the daemon has reported it.
struct PictureFacts {
  let type: String
  var bytes: Int
  /// An entity tag, with its quotes, strong for the picture itself; nil if the daemon has no checksum.
  var tag: String?
  /// Seconds since 1970.
  private(set) var modified: Int64?
  /// Whether others may keep it.
  private(set) var mayBeKept: Bool
  private(set) var age: Int
  /// Zero for a stale picture.
  private(set) var freshFor: Int

  /// The same of a picture that stands in for another one, for a minute.
  var standingIn: PictureFacts {
    var facts = self
    (facts.modified, facts.mayBeKept, facts.age, facts.freshFor) = (nil, true, 0, 60)
    return facts
  }

  /// Whether it is a document that a browser would open, and not pixels.
  var isDrawing: Bool { type == "image/svg+xml" }

  /// Nil for an answer without a picture.
  init?(_ reply: Reply) {
    guard reply.succeeded == true, let type = reply.text("type"), let lent = reply.objects("fds")?.first,
      let bytes = lent.number("bytes"), bytes > 0
    else { return nil }
    self.type = type
    self.bytes = bytes
    tag = lent.text("checksum").map { "\"\($0)\"" }
    modified = lent.text("modified").flatMap { Timestamp.seconds(of: $0) }
    mayBeKept = lent.flag("keep") ?? true
    age = Self.sane(reply.number("age"))
    freshFor = reply.flag("stale") == true ? 0 : Self.sane(reply.number("fresh_for"))
  }

  /// Seconds, limited to the range in which caches count.
  static func sane(_ seconds: Int?) -> Int { min(max(seconds ?? 0, 0), Int(Int32.max)) }
}
