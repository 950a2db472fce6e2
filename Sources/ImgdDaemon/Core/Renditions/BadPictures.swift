import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdWire

/// Pictures that ended a decoder, that it could not read, or that it could not bring into some form. For a while they
/// are not decoded again, under whichever URL of their host they come, unless a purge names one of those URLs.
///
/// Their bytes are identified by a checksum, and other bytes can be made to match it: so the host counts as well, and
/// none has a say over the pictures of another.
struct BadPictures {
  private static let mostKnown = 1_024
  private static let longestKnown = Duration.seconds(300)
  /// How many are compared with a purge at once.
  private static let mostCompared = 64

  private struct Subject: Hashable {
    let checksum: BodyChecksum
    let bytes: Int
    let host: String
    /// The one form that cannot be made; nil where no form is tried again.
    let rendition: Rendition?

    init(_ image: CachedImage, as rendition: Rendition?) {
      checksum = image.checksum
      bytes = image.byteCount
      host = image.url.host
      self.rendition = rendition
    }
  }

  private struct Case {
    let failure: DecodeFailure
    let until: Instant
    /// Tells it apart from an earlier case of the same subject.
    let number: UInt64
    var names: BadNames
  }

  private var known: [Subject: Case] = [:]
  /// In the order in which they came; some may have been forgotten since.
  private var order = Fifo<(subject: Subject, number: UInt64)>()
  private var last: UInt64 = 0

  /// Remembers a failure, if the bytes or the form are to blame.
  mutating func note(_ failure: DecodeFailure, of image: CachedImage, as rendition: Rendition, at now: Instant) {
    let subject: Subject
    switch failure.cause {
    case .damaged: subject = Subject(image, as: nil)
    // It may have been the writer that crashed, over a form that one client chose: other forms are still tried.
    case .crashed: subject = Subject(image, as: rendition.isFile ? rendition : nil)
    case .timedOut, .unmade, .killed: subject = Subject(image, as: rendition)
    case .unsupported, .tooLarge, .unavailable, .stopped, .queueFull: return
    }
    last += 1
    order.append((subject, last))
    known[subject] = Case(failure: failure, until: now + Self.longestKnown, number: last, names: BadNames(image))
    while order.count > Self.mostKnown, let oldest = order.popFirst() {
      if known[oldest.subject]?.number == oldest.number { known[oldest.subject] = nil }
    }
  }

  /// The failure that another attempt would end in.
  mutating func failure(of image: CachedImage, as rendition: Rendition, at now: Instant) -> DecodeFailure? {
    guard !known.isEmpty else { return nil }
    for subject in [Subject(image, as: nil), Subject(image, as: rendition)] {
      guard let found = known[subject], now < found.until else { continue }
      known[subject]?.names.add(image)
      return found.failure
    }
    return nil
  }

  /// What failed under the former limits may pass under others.
  mutating func forget() {
    known = [:]
    order = Fifo()
  }

  /// A purge of what is known, carried out in parts.
  struct Purge {
    /// Without the conditions on an image's age, which says nothing about whether its bytes are good.
    fileprivate let filter: PurgeFilter
    /// Cases that were noted after it began are left alone.
    fileprivate let newest: UInt64
    fileprivate var next: UInt64 = 0
  }

  func beginPurge(_ filter: PurgeFilter) -> Purge { Purge(filter: filter.namesOnly, newest: last) }

  /// Continues a purge with some of the cases; returns whether there are more.
  mutating func goOn(with purge: inout Purge) -> Bool {
    guard !known.isEmpty, let first = order.first else { return false }
    // The numbers in `order` follow each other without a gap.
    let start = Int(max(purge.next, first.number) - first.number)
    let end = min(start + Self.mostCompared, order.count)
    for place in start..<max(start, end) {
      guard let entry = order[place], entry.number <= purge.newest else { return false }
      if let found = known[entry.subject], found.number == entry.number, found.names.match(purge.filter) {
        known[entry.subject] = nil
      }
    }
    purge.next = first.number + UInt64(end)
    return end < order.count
  }

  var count: Int { known.count }
}

/// The names under which a bad picture was asked for. Only a few are kept: beyond that, any purge may mean it.
private struct BadNames {
  private static let most = 4
  private static let mostBytes = 2_048

  private var names: [(key: CacheKey, tags: [String])] = []
  private var bytes = 0
  private var areAll = true

  init(_ image: CachedImage) { add(image) }

  mutating func add(_ image: CachedImage) {
    let (key, tags) = (image.key, image.tags)
    guard areAll, !names.contains(where: { $0.key == key && $0.tags == tags }) else { return }
    bytes += tags.reduce(key.url.text.utf8.count) { $0 + $1.utf8.count }
    if names.count < Self.most, bytes <= Self.mostBytes {
      names.append((key, tags))
    } else {
      areAll = false
      names = []
    }
  }

  func match(_ filter: PurgeFilter) -> Bool { !areAll || names.contains { filter.matchesName($0.key, tags: $0.tags) } }
}

// Limits that a picture is held to before a decoder sees it, and the failures of decoders as errors.

extension DecodeLimits {
  init(_ settings: Configuration.Decode) {
    self.init(pixels: settings.maxPixels, frames: settings.maxFrames, dimension: settings.maxDimension)
  }

  /// Why a picture is not decoded, going by what its header claims; nil if it is.
  func refusal(of facts: ImageFacts) -> DecodeFailure? {
    // Of a drawing only the size counts at which it is drawn.
    guard !facts.pictureFormat.isDrawn else { return nil }
    let (width, height, frames) = (Int(facts.width), Int(facts.height), Int(facts.frames))
    if frames > self.frames {
      return DecodeFailure(.tooLarge, "the picture has \(frames) frames, and Decode.MaxFrames is \(self.frames)")
    }
    if max(width, height) > dimension {
      return DecodeFailure(
        .tooLarge, "the picture has \(width) x \(height) pixels, and Decode.MaxDimension is \(dimension)")
    }
    // Each is less than 2^31, but their product may overflow.
    let (all, isTooMuch) = (width * height).multipliedReportingOverflow(by: frames)
    guard isTooMuch || all > pixels else { return nil }
    let moving = frames > 1 ? " in \(frames) frames" : ""
    return DecodeFailure(
      .tooLarge, "the picture has \(width) x \(height) pixels\(moving), and Decode.MaxPixels is \(pixels)")
  }
}

extension DecodeFailure {
  var error: WireError {
    switch cause {
    case .damaged: WireError(.decodeFailed, "the picture cannot be decoded: \(reason)")
    case .unsupported: WireError(.unsupportedFormat, reason)
    case .tooLarge: WireError(.tooManyPixels, reason)
    case .unmade: WireError(.decodeFailed, "the picture cannot be brought into this form: \(reason)")
    case .crashed, .killed: WireError(.decodeCrashed, "the decoder ended over this picture: \(reason)")
    case .timedOut:
      WireError(
        .timeout, "the picture is not decoded: \(reason)",
        details: [.init("phase", "decode")] + (limit.map { [.init("limit_ms", .integer($0.milliseconds))] } ?? []))
    case .unavailable: WireError(.unavailable, reason)
    case .stopped: .shuttingDown
    case .queueFull: WireError(.queueFull, reason)
    }
  }
}
