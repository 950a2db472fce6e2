// The terminal line of a fetch that brought a picture, from memory, disk or network alike.
//
// Most fields are the same in every answer that shows the same image in memory. They are encoded
// once and kept with the image (`preparedFields`); `HitLine` copies them and writes the few numbers
// around them.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdWire

struct PictureLine {
  /// The picture as a file, as the line tells it.
  enum Path {
    case notWanted
    case lent(String)
    case refused(PathRefusal)

    init(_ lending: DiskTier.Lending, of image: CachedImage) {
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
    case descriptor
  }

  let id: RequestID
  let receipt: ReceiptID
  let picture: ShownPicture
  let elapsedNanoseconds: Int64
  var path = Path.notWanted
  var content = Content.none
  /// The origin's answer, where the request asks for it.
  var http: StoredResponse?

  func write(to line: inout JSONWriter) {
    ReplyEncoder.begin(id: id, ok: true, into: &line)
    line.field("receipt", receipt)
    if let prepared = picture.prepared {
      line.fields(raw: prepared)
    } else {
      picture.writeFields(to: &line)
    }
    line.field("age", picture.age)
    line.field("fresh_for", picture.freshFor)
    line.field("elapsed_ms", millisecondsOf: UInt64(max(elapsedNanoseconds / 1_000, 0)))
    writePath(to: &line)
    if picture.isStale { line.field("stale", true) }
    if let http { line.http(status: http.status, headers: http.headers.list) }
    writeContent(to: &line)
    ReplyEncoder.end(into: &line)
  }

  private func writePath(to line: inout JSONWriter) {
    switch path {
    case .notWanted: break
    case .lent(let path): line.field("path", path)
    case .refused(let reason):
      line.fieldNull("path")
      line.field("deliver_note", reason.note)
    }
  }

  private func writeContent(to line: inout JSONWriter) {
    switch content {
    case .none: break
    case .inline(let payload): payload.withBytes { line.field("data", base64: $0) }
    case .descriptor:
      line.array("fds") { line in
        line.object { line in
          line.field("kind", "encoded")
          line.field("bytes", picture.bytes)
        }
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
  var isStale = false
  var finalURL: String?
  /// All but the ages, encoded already.
  var prepared: [UInt8]?

  /// `url` is as the client wrote it.
  init(_ delivered: DeliveredImage, url: String, at now: Instant) {
    let image = delivered.image
    self.url = url
    source = delivered.source
    facts = image.facts
    bytes = image.payload.count
    age = image.age(at: now)
    freshFor = image.freshFor(at: now)
    isCoalesced = delivered.isCoalesced
    isStale = delivered.isStale
    finalURL = image.response.finalURL
    if source == .memory, !isCoalesced, url == image.key.url.text { prepared = image.replyPieces }
  }

  init(_ hit: EntryDetails, url: String) {
    self.url = url
    source = .disk
    facts = hit.facts
    bytes = hit.bytes
    age = hit.age
    freshFor = hit.freshFor
  }

  func writeFields(to line: inout JSONWriter) {
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", isCoalesced)
    line.facts(facts)
    line.field("bytes", bytes)
    if let finalURL { line.field("final_url", finalURL) }
  }

  /// The fields that every hit of an image in memory shows, to be kept with it.
  static func preparedFields(of image: CachedImage) -> [UInt8] {
    var line = JSONWriter()
    let delivered = DeliveredImage(image: image, source: .memory)
    ShownPicture(delivered, url: image.key.url.text, at: image.storedAt).writeFields(to: &line)
    return line.bytes
  }
}

extension HitLine {
  /// The line of a plain hit in memory; nil when the request's id is a string. `lending` is nil
  /// where no path is wanted.
  init?(
    _ image: CachedImage, id: RequestID, receipt: ReceiptID, lending: DiskTier.Lending?,
    elapsedNanoseconds: Int64, at now: Instant
  ) {
    let number: Int64?
    switch id {
    case .none: number = nil
    case .integer(let integer): number = integer
    case .string: return nil
    }
    guard let facts = image.replyPieces else { return nil }
    self.init(
      id: number, receipt: receipt, facts: facts, age: image.age(at: now),
      freshFor: image.freshFor(at: now),
      elapsedMicroseconds: UInt64(max(elapsedNanoseconds / 1_000, 0)),
      ending: Self.ending(lending, of: image))
  }

  private static func ending(_ lending: DiskTier.Lending?, of image: CachedImage) -> [UInt8] {
    switch lending {
    case nil: return plainEnding
    case .lent: return image.file?.ending(orElse: ending(path:)) ?? plainEnding
    case .refused(let reason): return refusalEndings[reason] ?? plainEnding
    case .waiting: return refusalEndings[.lost] ?? plainEnding
    }
  }

  private static let plainEnding = Array("}\n".utf8)
  private static let refusalEndings = Dictionary(
    uniqueKeysWithValues: PathRefusal.allCases.map {
      ($0, Array(",\"path\":null,\"deliver_note\":\"\($0.note)\"}\n".utf8))
    })

  /// Encoded once for each file, and kept with it.
  private static func ending(path: String) -> [UInt8] {
    var line = JSONWriter()
    line.field("path", path)
    return Array(",".utf8) + line.bytes + plainEnding
  }
}

extension JSONWriter {
  /// The properties of a picture that are known without decoding it.
  mutating func facts(_ facts: ImageFacts) {
    let format = facts.pictureFormat
    field("format", format.name)
    field("type", format.mediaType)
    field("width", Int(facts.width))
    field("height", Int(facts.height))
    field("frames", Int(facts.frames))
    if facts.orientation > 1 { field("orientation", Int(facts.orientation)) }
  }
}

extension PathRefusal {
  /// The reason as the line tells it; short, and always the same words.
  var note: String {
    switch self {
    case .off: "no disk tier: use deliver fd"
    case .readOnly: "the disk tier cannot write now: use deliver fd"
    case .full: "the disk is full: use deliver fd"
    case .busy: "too much waits for the disk: use deliver fd"
    case .noStore: "the origin forbids storing: use deliver fd"
    case .credentials: "fetched with credentials, so kept in memory only: use deliver fd"
    case .tooLarge: "larger than the disk tier takes: use deliver fd"
    case .purged: "purged on its way, so not stored: use deliver fd"
    case .notWanted: "the request keeps it off the disk: use deliver fd"
    case .lost: "the file was removed: ask again, or use deliver fd"
    }
  }
}
