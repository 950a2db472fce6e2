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
  let delivery: Delivery
  let showsHTTP: Bool
  /// The URL as the client wrote it.
  let url: String
  let elapsed: Duration
  let now: Instant

  private var image: CachedImage { delivered.image }

  func write(to line: inout JSONWriter) {
    line.beginReply(id: id, ok: true)
    line.field("receipt", receipt)
    writeFacts(to: &line)
    if delivery == .path { writePath(to: &line) }
    line.field("age", image.age(at: now))
    line.field("fresh_for", image.freshFor(at: now))
    line.milliseconds("elapsed_ms", nanoseconds: elapsed.nanoseconds)
    if delivered.isStale { line.field("stale", true) }
    if showsHTTP { line.http(status: image.answer.status, headers: image.answer.headers) }
    writeBytes(to: &line)
    line.endReply()
  }

  // MARK: Facts

  private func writeFacts(to line: inout JSONWriter) {
    guard delivered.source == .memory, url == image.key.url else {
      return writeFacts(of: delivered.source, to: &line)
    }
    if image.replyPiece.isEmpty {
      var piece = JSONWriter()
      writeFacts(of: .memory, to: &piece)
      image.replyPiece = piece.bytes
    }
    line.members(image.replyPiece[...])
  }

  private func writeFacts(of source: DeliveredImage.Source, to line: inout JSONWriter) {
    let format = image.format
    line.field("url", url)
    line.field("source", source.rawValue)
    line.field("coalesced", delivered.isCoalesced)
    line.field("format", format.name)
    line.field("type", format.mediaType)
    line.field("width", image.facts.width)
    line.field("height", image.facts.height)
    line.field("frames", image.facts.frames)
    if image.facts.orientation > 1 { line.field("orientation", image.facts.orientation) }
    line.field("bytes", image.payload.count)
    if let final = image.answer.finalURL { line.field("final_url", final) }
  }

  // MARK: Delivery

  private static let pathNote =
    "this daemon keeps no files: ask with deliver fd or inline for the bytes"

  private func writePath(to line: inout JSONWriter) {
    line.null("path")
    line.field("deliver_note", Self.pathNote)
  }

  private func writeBytes(to line: inout JSONWriter) {
    switch delivery {
    case .inline: image.payload.withBytes { line.base64("data", $0) }
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
