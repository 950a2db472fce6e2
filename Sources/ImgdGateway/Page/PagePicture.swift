import ImgdConnection
import ImgdText
import ImgdWire

/// The sizes in which the page shows a picture that is in the cache.
enum PagePicture {
  /// A tile: twice the size at which the page shows it, for screens with fine pixels.
  case thumbnail
  /// The whole picture beside its facts.
  case preview
  /// The file as it is in the cache, in a tab of its own.
  case original

  private static let lifetime = 60

  /// The request only looks into the cache: nothing is downloaded or kept, and it counts neither as a look-up nor as a
  /// use.
  func request(_ url: String, share: String?) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.cache = .peek
    fetch.priority = .low
    fetch.delivery = .fd
    if let box { fetch.form = PictureForm(box: box, format: .webp, frames: .first) }
    fetch.extras.share = share
    return fetch
  }

  private var box: PictureForm.Box? {
    switch self {
    case .thumbnail: PictureForm.Box(width: 320, height: 240, fit: .cover)
    case .preview: PictureForm.Box(width: 640, height: 640)
    case .original: nil
    }
  }

  /// The answer to a browser, which keeps the picture for a minute.
  static func response(to answer: DaemonAnswer, known tags: [String]) -> HTTPResponse? {
    guard let picture = answer.takeDescriptor(), let length = answer.reply.number("bytes"), length > 0,
      let type = answer.reply.text("type")
    else { return nil }
    let checksum = answer.reply.objects("fds")?.first?.text("checksum")
    let tag = checksum.map { "\"\($0)\"" }
    var fields: PageAnswer.Fields = [("Cache-Control", "private, max-age=\(lifetime)")]
    if let tag { fields.append(("ETag", tag)) }
    let own = tag.flatMap { EntityTag($0) }
    if let own, tags.contains(where: { $0 == "*" || own.isIn($0) == true }) {
      return HTTPResponse(status: 304, fields: fields + PageAnswer.common, body: .length(length))
    }
    fields.append(("Content-Type", type))
    fields.append(("Content-Security-Policy", "default-src 'none'; sandbox"))
    return HTTPResponse(status: 200, fields: fields + PageAnswer.common, body: .file(0..<length), of: picture)
  }
}
