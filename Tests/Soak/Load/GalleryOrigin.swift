import ImgdTestSupport

/// The origin of the gallery, which misbehaves when it is told to.
final class GalleryOrigin: Sendable {
  enum Mood: Sendable { case well, hangs, resets, lies }

  private let server: OriginServer
  private let mood = Shared(Mood.well)
  private let noise = Shared(Noise(seed: 3))

  init(_ gallery: Gallery) throws {
    server = try OriginServer(keepsRequests: false)
    let (mood, noise) = (mood, noise)
    server.answer { request in
      let chance = noise.with { Int.random(in: 0..<100, using: &$0) }
      if let number = Gallery.number(of: request.path) {
        let known = request.header("if-none-match") ?? "nothing"
        gallery.diary.note([number], "the origin has \(gallery.newest(number)), and is asked by one who has \(known)")
      }
      return Self.answer(to: request, from: gallery, in: mood.with { $0 }, chance)
    }
  }

  deinit { server.stop() }

  func url(_ path: String) -> String { server.url(path) }

  func set(_ new: Mood) { mood.with { $0 = new } }

  private static func answer(
    to request: OriginRequest, from gallery: Gallery, in mood: Mood, _ chance: Int
  ) -> OriginAnswer {
    guard let (bytes, tag) = picture(of: request.path, from: gallery) else { return .status(404) }
    let isInGroup = Gallery.number(of: request.path).map(Gallery.isInGroup) ?? false
    let fields =
      [("Content-Type", "image/png"), ("Cache-Control", "max-age=3600")]
      + (isInGroup ? [("Cache-Groups", "\"third\"")] : [])
    // Some requests are answered well at the worst of times.
    if chance < 20 { return .conditional(bytes, tag: tag, headers: fields) }
    return switch mood {
    case .well: .conditional(bytes, tag: tag, headers: fields)
    case .hangs: chance < 60 ? .silence : .stalls(bytes, after: bytes.count / 2, headers: fields)
    case .resets: chance < 60 ? .reset : .cut(bytes, after: bytes.count / 2, headers: fields)
    case .lies: lie(about: bytes, fields, chance)
    }
  }

  /// The bytes and the tag of what is there now: of the gallery, or a small picture that is asked for once.
  private static func picture(of path: String, from gallery: Gallery) -> (bytes: [UInt8], tag: String)? {
    if let number = Gallery.number(of: path) {
      let version = gallery.newest(number)
      return (gallery.bytes(number, version), "\"\(number)-\(version)\"")
    }
    guard path.hasPrefix("/once-"), let number = UInt64(path.dropFirst(6)) else { return nil }
    return (TestPicture.png(bytes: 700, seed: number), "\"\(number)\"")
  }

  /// An answer that may be kept despite what is wrong with it names the group: otherwise a purge of the group would miss it.
  private static func lie(about bytes: [UInt8], _ fields: [(String, String)], _ chance: Int) -> OriginAnswer {
    switch chance % 8 {
    case 0: .misannounced(bytes, as: bytes.count + 100)
    case 1: .body(bytes, headers: fields + [("Content-Encoding", "gzip")])
    case 2: .body(Array("<html>no picture</html>".utf8), headers: fields)
    case 3: .status(500)
    case 4: .chunkedCut([bytes], headers: fields)
    case 5: .status(304, headers: fields)
    case 6: .raw("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nContent-Length: 13\r\n\r\n")
    default: .cut(bytes, after: bytes.count - 1, headers: fields)
    }
  }
}
