import ImgdConnection
import ImgdHTTP

/// A small picture of one that is in the cache.
enum Thumbnail {
  /// Twice the size at which the page shows it, for screens with fine pixels.
  static let size = (width: 320, height: 240)
  private static let lifetime = 60

  /// Nothing is downloaded for it, and it is not kept: the cache is looked at, and not filled with small pictures.
  static func request(_ url: String) -> RequestLine {
    var line = RequestLine("fetch")
    line.add("url", url)
    line.add("cache", "only-if-cached")
    line.add("store", "none")
    line.add("priority", "low")
    line.add("deliver", "fd")
    line.addObject("resize") { resize in
      resize.add("width", size.width)
      resize.add("height", size.height)
      resize.add("fit", "cover")
    }
    line.add("format", "webp")
    line.add("frames", "first")
    return line
  }

  /// The answer to a browser, which keeps a thumbnail for a minute.
  static func response(to answer: DaemonAnswer, known tags: [String]) -> HTTPResponse? {
    guard let picture = answer.takeDescriptor(), let length = answer.reply.number("bytes"),
      length > 0, let type = answer.reply.text("type")
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
    return HTTPResponse(
      status: 200, fields: fields + PageAnswer.common, body: .file(picture, 0..<length))
  }
}
