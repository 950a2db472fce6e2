// The answers that are given in the same call: hits for the usual request, which names nothing but a URL.

import ImgdCache
import ImgdSystem
import ImgdWire

/// Answers requests whose pictures are at hand.
final class ReadyAnswers: FetchPart {
  let ground: FetchGround
  private let hits: PlainHits
  /// How many remembered redirects are followed.
  var mostRedirects: Int

  init(_ ground: FetchGround, hits: PlainHits, mostRedirects: Int) {
    self.ground = ground
    self.hits = hits
    self.mostRedirects = mostRedirects
  }

  /// Answers a fetch with a picture in memory, if there is one.
  func answer(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    answerFromMemory(request, id: id, to: client) || answerAlongRedirects(request, id: id, to: client)
  }

  /// The whole way of a hit in memory for the usual request, which names nothing but a URL.
  ///
  /// It takes no job and no lasting allocation. A URL that is not in canonical form goes the long way: no image is kept
  /// under such a URL.
  private func answerFromMemory(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard let image = pictures.readyImage(for: request, uid: client.peer.uid) else { return false }
    return answer(request, with: image, id: id, to: client)
  }

  /// Answers with a picture that is known under another URL, to which remembered redirects lead.
  private func answerAlongRedirects(_ request: FetchRequest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard request.identifier == nil, let image = pictures.readyImage(redirectedFrom: request.url, atMost: mostRedirects)
    else { return false }
    return answer(request, with: image, finalURL: image.url.text, id: id, to: client)
  }

  /// Answers with a picture in memory, unless its file has to be waited for.
  private func answer(
    _ request: FetchRequest, with image: CachedImage, finalURL: String? = nil, id: RequestID, to client: ReplyPlace
  ) -> Bool {
    if finalURL == nil, let hit = hits.hit(image, request.showing, for: client) {
      let elapsed = recordHit(request, of: image)
      let id = id.written
      hits.answer(hit, id: id.span, receipt: request.receipt, after: elapsed, to: client)
      return true
    }
    guard let delivered = DeliveredImage(ready: image, finalURL: finalURL, describing: request.describe) else {
      return false
    }
    var lending: PathLending?
    if request.delivery == .path {
      lending = pictures.disk.lend(image, mayStore: request.keepsOnDisk)
      if lending == .waiting { return false }
    }
    _ = recordHit(request, of: image)
    let receipt = request.receipt ?? hits.nextReceipt()
    let recipient = Recipient(client, request, id: id, receipt: receipt, startedAt: loop.now)
    answers.write(.image(delivered), to: recipient, path: lending.map { PictureLine.Path($0, of: image) })
    hub.hit(receipt, url: request.url, from: .memory)
    return true
  }

  /// Counts and logs a hit in memory; returns how long it took, in nanoseconds.
  private func recordHit(_ request: FetchRequest, of image: CachedImage) -> Int64 {
    let elapsed = hits.recordHit()
    FetchLog.hit(request, from: .memory, bytes: image.byteCount, after: elapsed)
    return elapsed
  }

  /// Answers a plain fetch with a picture that only the disk has, as far as the disk tier has it at hand.
  func answer(_ request: FetchRequest, under digest: KeyDigest, id: RequestID, to client: ReplyPlace) -> Bool {
    guard !(client.isFull && request.delivery.bringsBytes), !request.describe,
      let hit = pictures.readyHit(for: request, digest, uid: client.peer.uid)
    else { return false }
    let receipt = request.receipt ?? hits.nextReceipt()
    let elapsed = hits.recordHit()
    let (details, version) = (hit.details, hit.version)
    FetchLog.hit(request, from: .disk, bytes: details.bytes, after: elapsed)
    var line = PictureLine(
      picture: ShownPicture(details, url: request.url),
      path: request.delivery == .path ? .lent(details.path) : .notWanted)
    switch hit.takeContent() {
    case .none: break
    case .bytes(let payload): line.content = .inline(payload)
    case .descriptor(let file):
      line.content = .descriptor(LentPicture(version, mayBeKept: true))
      client.attach(file)
    }
    line.write(to: client, id: id, receipt: receipt, after: elapsed)
    hub.hit(receipt, url: request.url, from: .disk)
    return true
  }

  /// The digest under which the disk has the picture of a plain request.
  func digest(of request: FetchRequest, from client: ReplyPlace) -> KeyDigest {
    KeyDigest(url: request.url, identifier: request.identifier, variant: request.plainVariant(of: client.peer.uid))
  }
}
