internal import ImgdConnection
internal import ImgdSystem
internal import ImgdWire

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

  /// The URL as it was asked for.
  public var url: String { reply.text("url") ?? "" }
  /// Where the picture came from.
  public var source: Source { Source(reply.text("source") ?? "") }
  /// The handle of the fetch.
  public var receipt: Receipt? { reply.text("receipt").flatMap { Receipt($0) } }
  /// The format, recognised by the bytes: `jpeg`, for example.
  public var format: String { reply.text("format") ?? "" }
  /// The media type of that format: `image/jpeg`, for example.
  public var type: String { reply.text("type") ?? "" }
  /// The size as it is delivered.
  public var width: Int { reply.number("width") ?? 0 }
  public var height: Int { reply.number("height") ?? 0 }
  /// How many frames it has; with pixels, how many the decoded picture had.
  public var frames: Int { reply.number("frames") ?? 1 }
  /// How many frames there were before another form lost some; the same as `frames` if none are lost.
  public var originalFrames: Int { reply.number("frames_of") ?? frames }
  /// 2 to 8, the Exif orientation, if the picture has to be turned or mirrored to be upright.
  public var orientation: Int? { reply.number("orientation") }
  /// The size in bytes as it is delivered.
  public var byteCount: Int { reply.number("bytes") ?? 0 }
  /// The file, with `delivery` `path`. It stays for at least half a minute, and never changes.
  public var path: String? { reply.text("path") }
  /// The reason why there is no path although one was asked for.
  public var pathNote: String? { reply.text("deliver_note") }
  /// The bytes or pixels, with `delivery` `bytes` or `pixels`.
  public let memory: PictureMemory?
  /// The last URL, if the origin redirected.
  public var finalURL: String? { reply.text("final_url") }
  /// Whether the program already has the picture, by the condition in its `headers`: then only the URL, the source and
  /// the ages are here.
  public var isNotModified: Bool { reply.flag("not_modified") ?? false }
  /// Whether the picture is no longer fresh.
  public var isStale: Bool { reply.flag("stale") ?? false }
  /// Whether it is shown stale because no route leads to its origin.
  public var isOffline: Bool { reply.flag("offline") ?? false }
  /// Whether the fetch joined a download that another one had begun.
  public var isCoalesced: Bool { reply.flag("coalesced") ?? false }
  /// The time since the origin sent or confirmed the picture.
  public var age: Duration? { reply.number("age").map { .seconds($0) } }
  /// The time for which the picture still counts as fresh.
  public var freshFor: Duration? { reply.number("fresh_for").map { .seconds($0) } }
  /// How long the fetch took.
  public var elapsed: Duration { .milliseconds(min(max(reply.fraction("elapsed_ms") ?? 0, 0), 1e12)) }
  /// What can stand for the picture, with `describe`.
  public var placeholder: Placeholder? { Placeholder(reply) }
  /// The reason why there is no placeholder although one was asked for.
  public var placeholderNote: String? { reply.text("describe_note") }
  /// The answer, of which most programs read little.
  private let reply: Reply

  /// The whole answer as JSON text.
  public var json: String { reply.json }

  init(_ answer: Answer) {
    reply = answer.reply
    memory = answer.memory
  }
}

/// The bytes of a picture where the daemon has put them: mapped, not copied, and the same for all who have
/// asked for it.
///
/// The memory stays as long as this object or a picture that holds it, whatever the daemon does. Its pages are
/// those of a sealed memfd, or of a file in the cache, which the daemon never changes.
public final class PictureMemory: Sendable {
  /// The way in which the bytes have to be read.
  public enum Layout: Hashable, Sendable {
    /// A file of the picture's format.
    case encoded
    /// Rows from top to bottom, `stride` bytes each, with four bytes for each pixel. Several frames are one below the
    /// other, and the height is that of one.
    case pixels(width: Int, height: Int, stride: Int)

    fileprivate init?(_ description: Reply) {
      switch description.text("kind") {
      case "encoded": self = .encoded
      case "pixels":
        guard PixelFrames(description) != nil, let width = description.number("width"),
          let height = description.number("height"), let stride = description.number("stride")
        else { return nil }
        self = .pixels(width: width, height: height, stride: stride)
      default: return nil
      }
    }

    /// Whether this many bytes hold all the rows of so many frames.
    fileprivate func fits(_ frames: Int, into count: Int) -> Bool {
      guard case .pixels(let width, let height, let stride) = self else { return count >= 0 }
      let (row, isTooWide) = width.multipliedReportingOverflow(by: 4)
      let (whole, isTooHigh) = height.multipliedReportingOverflow(by: stride)
      let (all, areTooMany) = whole.multipliedReportingOverflow(by: frames)
      return width > 0 && height > 0 && !isTooWide && !isTooHigh && !areTooMany && row <= stride && all <= count
    }
  }

  /// The way in which the bytes have to be read.
  public let layout: Layout
  /// How the four bytes of a pixel lie.
  public let pixelLayout: FetchOptions.PixelLayout
  /// How long each frame of several is shown; empty for a single one.
  public let delays: [Duration]
  private let memory: ReceivedMemory

  /// The number of bytes.
  public var count: Int { memory.count }

  /// The bytes, for as long as this object is there.
  public var bytes: RawSpan {
    @_lifetime(borrow self) get {
      // The mapping ends with this object, on which the span depends.
      unsafe _overrideLifetime(RawSpan(_unsafeBytes: memory.bytes), borrowing: self)
    }
  }

  /// The bytes as numbers.
  public var span: Span<UInt8> {
    @_lifetime(borrow self) get {
      let elements = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self)
      return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
    }
  }

  /// Calls `body` with the bytes, for functions that take a pointer; they may not be used afterwards.
  public func withUnsafeBytes<R, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> R) throws(Failure)
    -> R
  {
    try unsafe body(memory.bytes)
  }

  /// Maps what `fds` describes.
  init(_ description: Reply, _ descriptor: consuming FileDescriptor?, from path: String) throws(ConnectionProblem) {
    guard let descriptor else {
      throw .strange(path: path, what: "its answer came without the descriptor that it names")
    }
    let frames = PixelFrames(description)
    guard let layout = Layout(description), let count = description.number("bytes"),
      layout.fits(frames?.count ?? 1, into: count)
    else {
      throw .strange(path: path, what: "its answer describes no picture: \(description.json)")
    }
    self.layout = layout
    pixelLayout = frames?.layout ?? .rgba8
    delays = frames?.delays ?? []
    do throws(SystemFailure) { memory = try ReceivedMemory(descriptor, count: count) } catch {
      throw .failed(path: path, reason: error.description)
    }
  }
}

/// What an answer says of the frames of decoded pixels.
private struct PixelFrames {
  let layout: FetchOptions.PixelLayout
  let count: Int
  let delays: [Duration]

  /// Nil for pixels of a later release, or for what cannot be true.
  init?(_ description: Reply) {
    guard let layout = description.text("format").flatMap(FetchOptions.PixelLayout.init),
      case let count = description.number("frames") ?? 1, count > 0,
      case let delays = description.numbers("delays_ms") ?? [], delays.count == (count > 1 ? count : 0),
      delays.allSatisfy({ 0...Int(Int32.max) ~= $0 })
    else { return nil }
    self.layout = layout
    self.count = count
    self.delays = delays.map { .milliseconds($0) }
  }
}

/// A few bytes that stand for a picture until it can be shown.
public struct Placeholder: Hashable, Sendable {
  /// The size of the picture.
  public let width: Int
  public let height: Int
  /// A blurred picture of about 25 bytes: ThumbHash.
  public let thumbhash: [UInt8]
  /// The mean colour.
  public let average: Colour

  init?(_ reply: Reply) {
    guard let width = reply.number("width"), let height = reply.number("height"), let text = reply.text("thumbhash"),
      let thumbhash = Base64Decoder.bytes(text), let average = reply.text("average").flatMap({ Colour($0) })
    else { return nil }
    self.width = width
    self.height = height
    self.thumbhash = thumbhash
    self.average = average
  }
}

/// A colour in sRGB, not premultiplied by its alpha.
public struct Colour: Hashable, Sendable {
  public let red: UInt8
  public let green: UInt8
  public let blue: UInt8
  public let alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Reads the form of CSS: `#rrggbb` or `#rrggbbaa`.
  public init?(_ text: String) {
    guard let colour = PictureForm.Background(text) else { return nil }
    self.init(red: colour.red, green: colour.green, blue: colour.blue, alpha: colour.alpha)
  }
}
