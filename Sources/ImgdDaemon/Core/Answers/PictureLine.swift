// The terminal line of a fetch that brought a picture, from memory, disk or network alike.
//
// Most fields are the same in every answer that shows the same image in memory. They are encoded
// once and kept with the image (`preparedFields`); `FetchLine` copies them and writes the few numbers
// around them. A plain hit in memory (`PlainHit`) makes that line directly.

import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdWire

struct PictureLine {
  /// The picture as a file, as the line tells it.
  enum Path {
    case notWanted
    case lent(String)
    case refused(PathRefusal)

    init(_ lending: PathLending, of image: CachedImage) {
      self =
        switch lending {
        case .lent: image.file.map { .lent($0.path) } ?? .refused(.lost)
        case .waiting: .refused(.lost)
        case .refused(let reason): .refused(reason)
        }
    }
  }

  /// The picture's bytes, as far as the line carries them.
  enum Content {
    case none
    case inline(Payload)
    /// The descriptor rides on the line.
    case descriptor(LentPicture)
    /// A descriptor of a decoded picture rides on the line.
    case pixels
  }

  let picture: ShownPicture
  var path = Path.notWanted
  var content = Content.none
  /// The origin's answer, where the request asks for it.
  var http: StoredResponse?

  /// Writes the line for a client. Bytes that it carries are encoded directly into the buffer that they are sent from:
  /// they are most of the line, and are not copied.
  func write(to client: ReplyPlace, id: RequestID, receipt: ReceiptID, after nanoseconds: Int64) {
    let numbers = FetchLine.Numbers(
      receipt: receipt, age: picture.age, freshFor: picture.freshFor, elapsedNanoseconds: nanoseconds)
    let (id, details, ending) = (id.written, details, ending)
    picture.withEncodedFields { facts in
      client.write(numbers, id: id.span, facts: facts, details: details.span, ending: ending.span)
    }
    if case .inline(let payload) = content { client.write(payload) }
  }

  /// The fields after the numbers that do not depend on how the picture is delivered.
  private var details: [UInt8] {
    FetchLine.details(framesOf: picture.originalFrames, in: picture.facts)
      + (http.map { FetchLine.details(of: $0) } ?? []) + (picture.placeholder.map { FetchLine.details(of: $0) } ?? [])
  }

  /// What comes after these, up to the bytes that end the line.
  var ending: [UInt8] {
    var line = JSONWriter(room: 192)
    line.path(path)
    if let seconds = picture.staleFor {
      line.field("stale", true)
      line.field("stale_for", seconds)
    }
    if picture.isOffered { line.field("offered", true) }
    if picture.isOffline { line.field("offline", true) }
    switch content {
    case .none: break
    case .inline:
      line.name("data")
      return Array(",".utf8) + line.bytes
    case .descriptor(let lent): write(lent, to: &line)
    case .pixels: writePixels(to: &line)
    }
    return FetchLine.ending(line.bytes)
  }

  private func write(_ lent: LentPicture, to line: inout JSONWriter) {
    line.array("fds") { line in
      line.object { line in
        line.field("kind", "encoded")
        line.field("bytes", picture.bytes)
        lent.write(to: &line)
      }
    }
  }

  private func writePixels(to line: inout JSONWriter) {
    line.array("fds") { line in
      line.object { line in
        line.field("kind", "pixels")
        picture.pixels.write(width: Int(picture.facts.width), height: Int(picture.facts.height), to: &line)
        line.field("bytes", picture.bytes)
      }
    }
  }
}

/// The fields of a line that describe the picture.
struct ShownPicture {
  let url: String
  let source: DeliveredImage.Source
  let facts: ImageFacts
  let bytes: Int
  let age: Int
  let freshFor: Int
  var isCoalesced = false
  var staleFor: Int?
  var isOffered = false
  var isOffline = false
  var finalURL: String?
  var placeholder: Placeholder?
  var pixels = PixelNotes(layout: .rgba, delays: [])
  /// The frames of the picture that it was made of; nil for a picture as its origin sends it.
  var originalFrames: Int32?
  /// The image with which all fields but the ages are kept, encoded.
  private var prepared: CachedImage?

  /// `url` is as the client wrote it.
  init(_ delivered: DeliveredImage, url: String, at now: Instant) {
    let image = delivered.image
    self.url = url
    source = delivered.source
    facts = image.facts
    bytes = image.byteCount
    let shown = delivered.originalAge ?? ShownAge(image, at: now)
    (age, freshFor) = (shown.age, shown.freshFor)
    placeholder = delivered.placeholder
    originalFrames = delivered.originalFrames
    if image.isPixels { pixels = PixelNotes(packed: image.description) }
    isCoalesced = delivered.isCoalesced
    staleFor = delivered.staleFor
    isOffered = delivered.isOffered
    isOffline = delivered.isOffline
    finalURL = delivered.finalURL
    if source == .memory, !isCoalesced, image.isOf(url), image.hasReply { prepared = image }
  }

  init(_ hit: EntryDetails, url: String) {
    self.url = url
    source = .disk
    facts = hit.facts
    bytes = hit.bytes
    age = hit.age
    freshFor = hit.freshFor
  }

  /// Lends all fields but the ages, encoded, for the duration of the call.
  func withEncodedFields(_ body: (Span<UInt8>) -> Void) {
    if let prepared { prepared.withReply { facts, _ in body(facts) } } else { body(encodedFields.span) }
  }

  /// All fields but the ages, encoded.
  var encodedFields: [UInt8] {
    var line = JSONWriter(room: url.utf8.count + 192)
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", isCoalesced)
    line.facts(facts)
    line.field("bytes", bytes)
    if let finalURL { line.field("final_url", finalURL) }
    return line.bytes
  }

  /// The fields that every hit of an image in memory shows, to be kept with it.
  static func preparedFields(of image: CachedImage) -> [UInt8] {
    let delivered = DeliveredImage(image: image, source: .memory)
    return ShownPicture(delivered, url: image.url.text, at: image.storedAt).encodedFields
  }
}

extension FetchLine {
  /// The end of a line without a path.
  static let plainEnding = ending([])
  /// The end of a line with the picture's bytes, up to these.
  static let inlineEnding = Array(#","data":"#.utf8)

  /// The end of a line with the path of a file.
  static func ending(path: String) -> [UInt8] {
    var line = JSONWriter()
    line.path(.lent(path))
    return ending(line.bytes)
  }

  /// The frames of the picture that a form was made of, as one of a line's details, if the form has lost some.
  static func details(framesOf original: Int32?, in form: ImageFacts) -> [UInt8] {
    guard let original, original != form.frames else { return [] }
    var line = JSONWriter()
    line.field("frames_of", Int(original))
    return Array(",".utf8) + line.bytes
  }

  /// The origin's answer, as one of a line's details.
  static func details(of response: StoredResponse) -> [UInt8] {
    var line = JSONWriter()
    line.http(status: response.status, headers: response.headers.list)
    return Array(",".utf8) + line.bytes
  }

  /// What is shown in place of a picture, as details of a line.
  static func details(of placeholder: Placeholder) -> [UInt8] {
    var line = JSONWriter()
    line.placeholder(placeholder)
    return Array(",".utf8) + line.bytes
  }
}

extension JSONWriter {
  /// The path of a picture's file, or the reason why there is none.
  fileprivate mutating func path(_ path: PictureLine.Path) {
    switch path {
    case .notWanted: break
    case .lent(let path): field("path", path)
    case .refused(let reason):
      fieldNull("path")
      field("deliver_note", reason.note)
    }
  }

  /// The properties of a picture that are known without decoding it.
  mutating func facts(_ facts: ImageFacts) {
    let format = facts.pictureFormat
    field("format", format.name)
    field("type", format.mediaType)
    field("width", Int(facts.width))
    field("height", Int(facts.height))
    field("frames", Int(facts.frames))
    if facts.exifOrientation > 1 { field("orientation", facts.exifOrientation) }
  }
}

extension PathRefusal {
  /// The reason as the line tells it; short, and always the same words.
  var note: String {
    switch self {
    case .off: "no disk tier: use deliver fd"
    case .down: "the disk tier does not work now: use deliver fd"
    case .readOnly: "the disk tier cannot write now: use deliver fd"
    case .full: "the disk is full: use deliver fd"
    case .busy: "too much waits for the disk: use deliver fd"
    case .noStore: "the origin forbids storing: use deliver fd"
    case .credentials: "fetched with credentials, so kept in memory only: use deliver fd"
    case .tooLarge: "larger than the disk tier takes: use deliver fd"
    case .purged: "purged on its way, so not stored: use deliver fd"
    case .notWanted: "kept in memory alone, as the request does not store it on disk: use deliver fd"
    case .lost: "the file was removed: ask again, or use deliver fd"
    }
  }
}

/// What a client that gets a picture's bytes as a descriptor, and may pass them on, has to know
/// about it.
struct LentPicture {
  let version: PictureVersion
  /// Whether others may keep it.
  let mayBeKept: Bool

  init(_ version: PictureVersion, mayBeKept: Bool) {
    self.version = version
    self.mayBeKept = mayBeKept
  }

  init(_ image: CachedImage, among purges: PurgeList) {
    self.init(image.version, mayBeKept: image.mayBeKept && !purges.isPurgedEverywhere(image))
  }

  func write(to line: inout JSONWriter) {
    if version.checksum != .unknown { line.field("checksum", version.checksum.text) }
    if let modified = version.modified { line.field("modified", Timestamp.rfc3339(modified)) }
    if !mayBeKept { line.field("keep", false) }
  }
}

/// What an answer shows in place of a picture until it is there, or the reason why there is nothing.
enum Placeholder {
  case description(PictureDescription)
  case failure(DecodeFailure)
}

extension PictureDescription {
  /// The form in which it is kept with its picture: the mean colour, then the hash.
  var packed: [UInt8] { average + thumbHash }

  /// Nil for anything other than what `packed` gives.
  init?(packed: [UInt8]) {
    guard packed.count > 4, packed.count <= 64 else { return nil }
    self.init(thumbHash: Array(packed[4...]), average: Array(packed[..<4]))
  }

  /// The mean colour as CSS writes it; with its alpha where it is not opaque.
  var averageText: String {
    var digits = Array("#".utf8)
    for part in average.last == 255 ? average.dropLast() : average[...] {
      for digit in [part >> 4, part & 15] {
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }
}

extension JSONWriter {
  /// Writes the fields of a placeholder, in an answer or in an event.
  mutating func placeholder(_ placeholder: Placeholder) {
    switch placeholder {
    case .description(let description):
      field("thumbhash", base64: description.thumbHash.span)
      field("average", description.averageText)
    case .failure(let failure):
      fieldNull("thumbhash")
      fieldNull("average")
      field("describe_note", failure.reason)
    }
  }
}

/// A client that gets the terminal line of a fetch, and the form in which it wants the picture.
struct Recipient {
  let client: ReplyPlace
  let id: RequestID
  let receipt: ReceiptID
  let request: FetchRequest
  let delivery: Delivery
  let startedAt: Instant

  init(
    _ client: ReplyPlace, _ request: FetchRequest, delivery: Delivery? = nil, id: RequestID, receipt: ReceiptID,
    startedAt: Instant
  ) {
    self.client = client
    self.id = id
    self.receipt = receipt
    self.request = request
    self.delivery = delivery ?? request.delivery
    self.startedAt = startedAt
  }
}
