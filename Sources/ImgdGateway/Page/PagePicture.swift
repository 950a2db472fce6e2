import ImgdConnection
import ImgdHTTP

/// The sizes in which the page shows a picture that is in the cache.
enum PagePicture {
  /// A tile: twice the size at which the page shows it, for screens with fine pixels.
  case thumbnail
  /// The whole picture beside its facts.
  case preview
  /// The file as it is in the cache, in a tab of its own.
  case original

  private static let lifetime = 60

  /// Nothing is downloaded for it, it is not kept, and it counts as nothing: the cache is looked at, and left as it
  /// is.
  func request(_ url: String) -> RequestLine {
    var line = RequestLine("fetch")
    line.add("url", url)
    line.add("cache", "peek")
    line.add("priority", "low")
    line.add("deliver", "fd")
    guard let (width, height, fit) = box else { return line }
    line.addObject("resize") { resize in
      resize.add("width", width)
      resize.add("height", height)
      resize.add("fit", fit)
    }
    line.add("format", "webp")
    line.add("frames", "first")
    return line
  }

  private var box: (width: Int, height: Int, fit: String)? {
    switch self {
    case .thumbnail: (320, 240, "cover")
    case .preview: (640, 640, "contain")
    case .original: nil
    }
  }

  /// The answer to a browser, which keeps the picture for a minute.
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
