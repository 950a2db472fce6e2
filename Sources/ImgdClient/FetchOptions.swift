internal import ImgdWire

/// The way in which a picture is wanted; docs/protocol.md has the defaults.
public struct FetchOptions: Hashable, Sendable {
  /// How the cache is used, named as in the web's `fetch`.
  public enum CacheMode: String, CaseIterable, Sendable {
    /// A fresh entry answers, a stale one is confirmed by the origin first.
    case `default`
    /// The origin answers with the whole picture.
    case reload
    /// Even a fresh entry is confirmed.
    case noCache = "no-cache"
    /// Any entry answers, however old.
    case forceCache = "force-cache"
    /// Any entry answers; where there is none, the error is `notCached`.
    case onlyIfCached = "only-if-cached"
    /// Like `onlyIfCached`, but the cache is left as it is: this counts neither as a look-up nor as a use.
    case peek
    /// The cache is neither read nor filled.
    case noStore = "no-store"
  }

  /// The form in which the picture comes.
  public enum Delivery: String, CaseIterable, Sendable {
    /// As the path of a file in the cache.
    case path
    /// As memory with the bytes of the file.
    case bytes = "fd"
    /// As memory with the decoded picture.
    case pixels
    /// Not at all: only the facts about it.
    case none
  }

  /// The tiers that may keep the picture.
  public enum Store: String, CaseIterable, Sendable { case all, memory, disk, fleet, local, none }

  /// The queue in which the download waits.
  public enum Priority: String, CaseIterable, Sendable { case low, normal, high }

  /// Another encoding.
  public enum Format: String, CaseIterable, Sendable {
    case original, jpeg, png, webp, avif, gif, tiff, jxl
    /// Formats that are never written: in a list they stand for pictures that come in them.
    case heic, bmp, jp2, svg
  }

  /// The frames of an animation that another form keeps.
  public enum Frames: String, CaseIterable, Sendable {
    /// As many as the encoding can have.
    case auto
    /// All of them, or the error is `unsupportedFormat`.
    case all
    case first
  }

  /// How the four bytes of a pixel lie in memory.
  public enum PixelLayout: String, CaseIterable, Sendable {
    /// Red, green, blue and alpha, which is not multiplied in.
    case rgba8
    /// Blue, green, red and alpha, which is multiplied in, as Cairo and Wayland have them.
    case bgra8Premultiplied = "bgra8-premultiplied"
  }

  /// How the cache is used.
  public var cache = CacheMode.default
  /// The form in which the picture comes.
  public var delivery = Delivery.path
  /// The tiers that may keep the picture; nil for all, and for memory alone where the program has it as a file and asks
  /// for no path.
  public var store: Store?
  /// Another size.
  public var resize: Resize?
  /// The encodings, the one liked best first: the first that can be written and loses nothing of the picture counts.
  public var formats = [Format.original]
  /// The one encoding, or the first of several.
  public var format: Format {
    get { formats.first ?? .original }
    set { formats = [newValue] }
  }
  /// The quality of that encoding, 1 to 100.
  public var quality: Int?
  /// The most bytes of an encoding that has a quality, which is lowered until it fits.
  public var encodedBytes: Int?
  /// The frames of an animation that another form keeps.
  public var frames = Frames.auto
  /// How pixels lie in memory.
  public var layout = PixelLayout.rgba8
  /// Whether a placeholder is wanted with the picture.
  public var describe = false
  /// The queue in which the download waits.
  public var priority = Priority.normal
  /// The part of this connection's share of the decoders that pays for the picture, 1 to 64 bytes: parts take turns.
  public var share: String?
  /// Labels for purges and cancellations.
  public var tags: [String] = []
  /// Headers for the origin.
  public var headers: [String: String] = [:]
  /// A further part of the cache key.
  public var identifier: String?
  /// How long the picture counts as fresh, in place of what its origin says; in whole seconds.
  public var ttl: Duration?
  /// How long the fetch may take in total; in whole milliseconds.
  public var timeout: Duration?
  /// Whether the fetch waits while no route leads to the origin; otherwise it fails with `offline` at once.
  public var waitsOnline = true
  /// A larger body is refused.
  public var maxBytes: Int?

  /// A picture as it is, as a file: set the properties for anything else.
  public init(delivery: Delivery = .path, resize: Resize? = nil) {
    self.delivery = delivery
    self.resize = resize
  }

  func request(for url: String) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.identifier = identifier
    fetch.cache = wireWord(cache)
    fetch.delivery = wireWord(delivery)
    if let store {
      fetch.store = wireWord(store)
    } else if delivery == .path {
      // Only a picture on disk has a path.
      fetch.store = .all
    }
    fetch.priority = wireWord(priority)
    fetch.waitsOnline = waitsOnline
    var extras = FetchExtras()
    extras.form = PictureForm(
      box: resize?.box, formats: formats.isEmpty ? [.original] : formats.map { wireWord($0) }, quality: quality,
      mostBytes: encodedBytes, frames: wireWord(frames), layout: wireWord(layout))
    extras.describe = describe
    extras.share = share
    extras.tags = tags
    // Sorted, so that the same options make the same line.
    extras.headers = headers.sorted { $0.key < $1.key }.map { RequestHeader(name: $0, value: $1) }
    extras.ttl = ttl?.rounded(to: .seconds(1))
    extras.timeoutMilliseconds = timeout?.rounded(to: .milliseconds(1))
    extras.maxBytes = maxBytes
    fetch.extras = extras
    return fetch
  }
}

/// Another size of a picture, or a part of it.
public struct Resize: Hashable, Sendable {
  /// How a picture of other proportions goes into the size.
  public enum Fit: String, CaseIterable, Sendable {
    /// As large as fits inside.
    case contain
    /// As small as covers it; what overflows is cut off.
    case cover
    /// Stretched.
    case fill
    /// As large as fits inside, and the rest of the size is filled.
    case pad
    /// As `cover` where picture and size both lie or both stand, otherwise as `contain`.
    case coverAlike = "cover-alike"
    /// As `cover`, in the shape of the size even where the picture is smaller.
    case coverDown = "cover-down"
  }

  /// The part that `cover` keeps.
  public enum Crop: Hashable, Sendable {
    case centre
    /// The part that draws the eye.
    case attention
    /// A point, in fractions of the sides, that comes as near to the middle as the picture allows.
    case point(x: Double, y: Double)
  }

  /// A part of the upright picture.
  public enum Area: Hashable, Sendable {
    case pixels(x: Int, y: Int, width: Int, height: Int)
    /// In fractions of the picture's sides.
    case fractions(x: Double, y: Double, width: Double, height: Double)
  }

  /// The part that is cut out before anything else; nil for the whole.
  public var area: Area?
  /// The size in pixels; `contain` needs one of the two, unless there is an area.
  public var width: Int?
  public var height: Int?
  /// How a picture of other proportions goes into the size.
  public var fit: Fit
  /// The part that `cover` keeps.
  public var crop: Crop
  /// Whether a smaller picture is enlarged.
  public var enlarge: Bool
  /// Whether colours are mixed in linear light.
  public var linear: Bool
  /// What lies behind a picture that is padded, or that loses its alpha; without it, nothing or white.
  public var background: Colour?

  /// At least one of width and height is needed, and both to cover, to fill or to pad; with an area, neither.
  public init(
    width: Int? = nil, height: Int? = nil, fit: Fit = .contain, crop: Crop = .centre, enlarge: Bool = false,
    linear: Bool = false, area: Area? = nil, background: Colour? = nil
  ) {
    self.area = area
    self.background = background
    self.width = width
    self.height = height
    self.fit = fit
    self.crop = crop
    self.enlarge = enlarge
    self.linear = linear
  }

  fileprivate var box: PictureForm.Box {
    PictureForm.Box(
      width: width, height: height, fit: wireWord(fit), crop: crop.ofWire, enlarge: enlarge, linear: linear,
      area: area?.ofWire,
      background: background.map {
        PictureForm.Background(red: $0.red, green: $0.green, blue: $0.blue, alpha: $0.alpha)
      })
  }
}

extension Resize.Crop {
  fileprivate var ofWire: PictureForm.Crop {
    switch self {
    case .centre: .centre
    case .attention: .attention
    case .point(let x, let y): .point(x: Fraction(x), y: Fraction(y))
    }
  }
}

extension Resize.Area {
  fileprivate var ofWire: PictureForm.Area {
    switch self {
    case .pixels(let x, let y, let width, let height): .pixels(x: x, y: y, width: width, height: height)
    case .fractions(let x, let y, let width, let height):
      .fractions(x: Fraction(x), y: Fraction(y), width: Fraction(width), height: Fraction(height))
    }
  }
}

/// A choice of the library as the protocol has it: both have the same words.
func wireWord<Choice: RawRepresentable<String>, Word: RawRepresentable<String>>(_ choice: Choice) -> Word {
  guard let word = Word(rawValue: choice.rawValue) else {
    preconditionFailure("the library offers \(choice.rawValue), which the protocol does not have")
  }
  return word
}

extension Duration {
  /// Rounds up.
  func rounded(to unit: Duration) -> Int { Int((self / unit).rounded(.up)) }
}
