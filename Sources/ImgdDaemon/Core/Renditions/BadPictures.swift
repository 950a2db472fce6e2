import ImgdCache
import ImgdDecode
import ImgdSystem

/// Pictures over which a decoder came to an end, or that it could not read: for a while they are not
/// decoded again, under whatever URL of their host they come.
///
/// Their bytes are told by a checksum, for which others can be made: so a host has no say over the pictures of
/// another.
struct BadPictures {
  private static let mostKnown = 1_024
  private static let longestKnown = Duration.seconds(300)

  private struct Content: Hashable {
    let checksum: BodyChecksum
    let bytes: Int
    let host: String

    init(_ image: CachedImage) {
      checksum = image.checksum
      bytes = image.byteCount
      host = image.url.host
    }
  }

  private struct Case {
    let failure: DecodeFailure
    /// The one form that was too much; nil where none is tried.
    let rendition: Rendition?
    let until: Instant
  }

  private var known: [Content: Case] = [:]
  private var order = Fifo<Content>()

  /// Remembers a failure, if it is one of the bytes.
  mutating func note(
    _ failure: DecodeFailure, of image: CachedImage, as rendition: Rendition, at now: Instant
  ) {
    let isForAll = failure.cause == .damaged || failure.cause == .crashed
    guard isForAll || failure.cause == .timedOut else { return }
    let content = Content(image)
    if known[content] == nil { order.append(content) }
    known[content] = Case(
      failure: failure, rendition: isForAll ? nil : rendition, until: now + Self.longestKnown)
    while known.count > Self.mostKnown, let oldest = order.popFirst() { known[oldest] = nil }
  }

  /// The failure that another attempt would end in.
  mutating func failure(
    of image: CachedImage, as rendition: Rendition, at now: Instant
  ) -> DecodeFailure? {
    guard !known.isEmpty, let found = known[Content(image)] else { return nil }
    guard now < found.until else { return nil }
    return found.rendition == nil || found.rendition == rendition ? found.failure : nil
  }

  /// Other limits may let pass what failed under those before.
  mutating func forget() {
    known = [:]
    order = Fifo()
  }

  var count: Int { known.count }
}
