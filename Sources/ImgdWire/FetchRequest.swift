/// One fetch as it was requested.
///
/// Nearly all fetches have a URL and little else, so the rare fields are in one box: the usual
/// request costs one allocation, its URL.
package struct FetchRequest: Equatable, Sendable {
  package var url: String
  /// The additional identifier of the cache key.
  package var identifier: String?
  package var cache = CacheMode.default_
  package var delivery = Delivery.path
  package var store = StorePolicy.all
  package var priority = Priority.normal
  package var format = OutputFormat.original
  /// Whether the client wants progress events.
  package var progress = false
  /// Whether the client wants the events `queued` and `started`.
  package var events = false
  /// Whether the `ok` line waits for the picture.
  package var wait = true
  /// Whether the fetch goes on when the connection is lost.
  package var detach = false
  /// Whether the reply includes the origin's status and headers.
  package var http = false
  /// The rare fields; nil when none was given.
  package var extras: FetchExtras?

  package init(url: String) {
    self.url = url
  }

  package var receipt: ReceiptID? { extras?.receipt }
  package var slot: String? { extras?.slot }
  package var headers: [RequestHeader] { extras?.headers ?? [] }
  package var resize: ResizeRequest? { extras?.resize }
  package var quality: Int? { extras?.quality }
  package var frames: FrameChoice { extras?.frames ?? .all }
  package var describe: Bool { extras?.describe ?? false }
  package var share: String? { extras?.share }
  package var timeoutMilliseconds: Int? { extras?.timeoutMilliseconds }
  package var maxBytes: Int? { extras?.maxBytes }
  package var tags: [String] { extras?.tags ?? [] }
  package var ttl: Int? { extras?.ttl }
}

/// The fields of a fetch that are rarely given, in one box.
package final class FetchExtras: Equatable, Sendable {
  /// The client's own receipt.
  package let receipt: ReceiptID?
  package let slot: String?
  /// Headers to add, in the order they were given.
  package let headers: [RequestHeader]
  package let resize: ResizeRequest?
  /// Of another encoding.
  package let quality: Int?
  package let frames: FrameChoice
  /// Whether the reply includes a placeholder.
  package let describe: Bool
  /// The part of the connection's share of the decoders that pays for it.
  package let share: String?
  /// The deadline of the whole request.
  package let timeoutMilliseconds: Int?
  /// A larger body is refused.
  package let maxBytes: Int?
  package let tags: [String]
  /// Seconds of freshness to use instead of the origin's.
  package let ttl: Int?

  package init(
    receipt: ReceiptID? = nil, slot: String? = nil, headers: [RequestHeader] = [],
    resize: ResizeRequest? = nil, timeoutMilliseconds: Int? = nil, maxBytes: Int? = nil,
    tags: [String] = [], ttl: Int? = nil, quality: Int? = nil, frames: FrameChoice = .all,
    describe: Bool = false, share: String? = nil
  ) {
    self.receipt = receipt
    self.slot = slot
    self.headers = headers
    self.resize = resize
    self.timeoutMilliseconds = timeoutMilliseconds
    self.maxBytes = maxBytes
    self.tags = tags
    self.ttl = ttl
    self.quality = quality
    self.frames = frames
    self.describe = describe
    self.share = share
  }

  /// Compares the contents.
  package static func == (left: FetchExtras, right: FetchExtras) -> Bool {
    left.receipt == right.receipt && left.slot == right.slot && left.headers == right.headers
      && left.resize == right.resize && left.timeoutMilliseconds == right.timeoutMilliseconds
      && left.maxBytes == right.maxBytes && left.tags == right.tags && left.ttl == right.ttl
      && left.quality == right.quality && left.frames == right.frames
      && left.describe == right.describe && left.share == right.share
  }
}

/// One header that the client adds to the request to the origin.
package struct RequestHeader: Equatable, Sendable {
  package let name: String
  package let value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// The size of a derived variant: one side or both for `contain`, else both.
package struct ResizeRequest: Hashable, Sendable {
  /// How a picture of other proportions is fitted: inside the size, covering it, or stretched.
  package enum Fit: String, CaseIterable, Sendable {
    case contain, cover, fill
  }

  /// The part of the picture that `cover` keeps.
  package enum Crop: String, CaseIterable, Sendable {
    case centre, attention
  }

  package let width: Int?
  package let height: Int?
  package let fit: Fit
  /// Whether a smaller picture is enlarged.
  package let enlarge: Bool
  package let crop: Crop
  /// Whether it is scaled in linear light.
  package let linear: Bool

  package init(
    width: Int?, height: Int?, fit: Fit = .contain, enlarge: Bool = false, crop: Crop = .centre,
    linear: Bool = false
  ) {
    self.width = width
    self.height = height
    self.fit = fit
    self.enlarge = enlarge
    self.crop = crop
    self.linear = linear
  }
}
