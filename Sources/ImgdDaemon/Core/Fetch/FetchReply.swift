// The terminal line of a fetch that brought a picture.
//
// Most of it is the same in every answer that shows the same image. That part is encoded once, at
// the first hit, and kept with the image: a hit copies it and writes the few numbers around it.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdWire

struct FetchReply {
  let delivered: DeliveredImage
  let id: RequestID
  let receipt: ReceiptID
  let request: FetchRequest
  /// As the request says, or who collects its outcome.
  let delivery: Delivery
  let elapsedNanoseconds: Int64
  let now: Instant
  var path = Path.notWanted

  /// What there is to say of the picture as a file.
  enum Path {
    case notWanted
    /// The path that the image knows.
    case lent
    case refused(PathRefusal)

    init(_ lending: DiskTier.Lending) {
      self =
        switch lending {
        case .lent: .lent
        case .waiting: .refused(.lost)
        case .refused(let reason): .refused(reason)
        }
    }
  }

  private var showsHTTP: Bool { request.http }
  /// The URL as the client wrote it.
  private var url: String { request.url }
  private var image: CachedImage { delivered.image }
  private var elapsedMicroseconds: UInt64 { UInt64(max(elapsedNanoseconds / 1_000, 0)) }

  /// The line in its quickest form, for a plain hit that shows neither bytes nor headers.
  var asHitLine: HitLine? {
    guard let facts = image.replyPieces, !showsHTTP, let number = id.number,
      delivery == .path || delivery == .none
    else { return nil }
    let ending = self.ending
    return HitLine(
      id: number.value, receipt: receipt, facts: facts, age: image.age(at: now),
      freshFor: image.freshFor(at: now), elapsedMicroseconds: elapsedMicroseconds, ending: ending)
  }

  func write(to line: inout JSONWriter) {
    ReplyEncoder.begin(id: id, ok: true, into: &line)
    line.field("receipt", receipt)
    writeFacts(to: &line)
    line.field("age", image.age(at: now))
    line.field("fresh_for", image.freshFor(at: now))
    line.field("elapsed_ms", millisecondsOf: elapsedMicroseconds)
    writePath(to: &line)
    if delivered.isStale { line.field("stale", true) }
    if showsHTTP { line.http(status: image.response.status, headers: image.response.headers.list) }
    writeBytes(to: &line)
    ReplyEncoder.end(into: &line)
  }

  // MARK: Facts

  private func writeFacts(to line: inout JSONWriter) {
    if let pieces = image.replyPieces, delivered.source == .memory, url == image.key.url.text {
      return line.fields(raw: pieces)
    }
    Self.writeFacts(of: delivered, url: url, to: &line)
  }

  /// What every hit says of an image, to be kept with it.
  static func pieces(of image: CachedImage) -> [UInt8] {
    var line = JSONWriter()
    let delivered = DeliveredImage(image: image, source: .memory)
    writeFacts(of: delivered, url: image.key.url.text, to: &line)
    return line.bytes
  }

  private static func writeFacts(
    of delivered: DeliveredImage, url: String, to line: inout JSONWriter
  ) {
    let image = delivered.image
    line.field("url", url)
    line.field("source", delivered.source.rawValue)
    line.field("coalesced", delivered.isCoalesced)
    line.facts(image.facts)
    line.field("bytes", image.payload.count)
    if let final = image.response.finalURL { line.field("final_url", final) }
  }

  // MARK: Delivery

  /// How a line ends that carries nothing but where the picture is.
  private var ending: [UInt8] {
    switch path {
    case .notWanted: return Self.plainEnding
    case .lent: return image.file?.ending(orElse: Self.ending) ?? Self.plainEnding
    case .refused(let reason): return Self.endings[reason] ?? Self.plainEnding
    }
  }

  private static let plainEnding = Array("}\n".utf8)
  private static let endings = Dictionary(
    uniqueKeysWithValues: PathRefusal.allCases.map {
      ($0, Array(",\"path\":null,\"deliver_note\":\"\($0.note)\"}\n".utf8))
    })

  /// Encoded once for each file, and kept with it.
  private static func ending(path: String) -> [UInt8] {
    var line = JSONWriter()
    line.field("path", path)
    return Array(",".utf8) + line.bytes + plainEnding
  }

  private func writePath(to line: inout JSONWriter) {
    switch path {
    case .notWanted: break
    case .lent: line.field("path", image.file?.path)
    case .refused(let reason):
      line.fieldNull("path")
      line.field("deliver_note", reason.note)
    }
  }

  private func writeBytes(to line: inout JSONWriter) {
    switch delivery {
    case .inline: image.payload.withBytes { line.field("data", base64: $0) }
    case .fd:
      line.array("fds") { line in
        line.object { line in
          line.field("kind", "encoded")
          line.field("bytes", image.payload.count)
        }
      }
    case .path, .none, .pixels: break
    }
  }
}

extension JSONWriter {
  /// What is known of a picture without decoding it.
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

extension RequestID {
  /// The number that the client chose, or that it chose nothing; nil for a string.
  fileprivate var number: (value: Int64?, isNumber: Bool)? {
    switch self {
    case .none: (nil, true)
    case .integer(let number): (number, true)
    case .string: nil
    }
  }
}

extension PathRefusal {
  /// What who asked for a path is told instead; short, and always the same words.
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
