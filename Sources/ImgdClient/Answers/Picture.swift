internal import ImgdConnection

/// A picture that the daemon has delivered.
public struct Picture: Sendable {
  /// Where a picture came from.
  public enum Source: Hashable, Sendable {
    case memory
    case disk
    /// The server that several hosts share.
    case fleet
    case network
    /// The origin confirmed the stored picture.
    case revalidated
    /// A source of a later release.
    case other(String)
  }

  /// The URL as it was asked for.
  public let url: String
  /// Where the picture came from.
  public let source: Source
  /// The handle of the fetch.
  public let receipt: Receipt?
  /// The format, recognised by the bytes: `jpeg`, for example.
  public let format: String
  /// The media type of that format: `image/jpeg`, for example.
  public let type: String
  /// The size as it is delivered.
  public let width: Int
  public let height: Int
  /// How many frames it has; with pixels, how many the decoded picture had.
  public let frames: Int
  /// 2 to 8, the Exif orientation, if the picture has to be turned or mirrored to be upright.
  public let orientation: Int?
  /// The size in bytes as it is delivered.
  public let byteCount: Int
  /// The file, with `delivery` `path`. It stays for at least half a minute, and never changes.
  public let path: String?
  /// The reason why there is no path although one was asked for.
  public let pathNote: String?
  /// The bytes or pixels, with `delivery` `bytes` or `pixels`.
  public let memory: PictureMemory?
  /// The last URL, if the origin redirected.
  public let finalURL: String?
  /// Whether the program already has the picture, by the condition in its `headers`: then only the URL, the source and
  /// the ages are here.
  public let isNotModified: Bool
  /// Whether the picture is no longer fresh.
  public let isStale: Bool
  /// Whether the fetch joined a download that another one had begun.
  public let isCoalesced: Bool
  /// The time since the origin sent or confirmed the picture.
  public let age: Duration?
  /// The time for which the picture still counts as fresh.
  public let freshFor: Duration?
  /// How long the fetch took.
  public let elapsed: Duration
  /// What can stand for the picture, with `describe`.
  public let placeholder: Placeholder?
  /// The reason why there is no placeholder although one was asked for.
  public let placeholderNote: String?
  private let reply: Reply

  /// The whole answer as JSON text.
  public var json: String { reply.json }

  init(_ answer: Answer) {
    let reply = answer.reply
    url = reply.text("url") ?? ""
    source = Source(reply.text("source") ?? "")
    receipt = reply.text("receipt").flatMap { Receipt($0) }
    format = reply.text("format") ?? ""
    type = reply.text("type") ?? ""
    width = reply.number("width") ?? 0
    height = reply.number("height") ?? 0
    frames = reply.number("frames") ?? 1
    orientation = reply.number("orientation")
    byteCount = reply.number("bytes") ?? 0
    path = reply.text("path")
    pathNote = reply.text("deliver_note")
    memory = answer.memory
    finalURL = reply.text("final_url")
    isNotModified = reply.flag("not_modified") ?? false
    isStale = reply.flag("stale") ?? false
    isCoalesced = reply.flag("coalesced") ?? false
    age = reply.number("age").map { .seconds($0) }
    freshFor = reply.number("fresh_for").map { .seconds($0) }
    elapsed = .milliseconds(min(max(reply.fraction("elapsed_ms") ?? 0, 0), 1e12))
    placeholder = Placeholder(reply)
    placeholderNote = reply.text("describe_note")
    self.reply = reply
  }
}

extension Picture.Source {
  fileprivate init(_ name: String) {
    switch name {
    case "memory": self = .memory
    case "disk": self = .disk
    case "fleet": self = .fleet
    case "network": self = .network
    case "revalidated": self = .revalidated
    default: self = .other(name)
    }
  }
}
