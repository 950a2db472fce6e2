/// One fetch as it was asked for.
///
/// Nearly all fetches name a URL and little else, so what is rare stands in one box: the usual
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
  /// Progress events are wanted.
  package var progress = false
  /// The events `queued` and `started` are wanted.
  package var events = false
  /// The `ok` line waits for the picture.
  package var wait = true
  /// Losing the connection does not cancel it.
  package var detach = false
  /// The origin's status and headers are wanted too.
  package var http = false
  /// The rare fields; nil where none was given.
  package var extras: FetchExtras?

  package init(url: String) {
    self.url = url
  }

  package var receipt: ReceiptID? { extras?.receipt }
  package var slot: String? { extras?.slot }
  package var headers: [RequestHeader] { extras?.headers ?? [] }
  package var resize: ResizeRequest? { extras?.resize }
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
    tags: [String] = [], ttl: Int? = nil
  ) {
    self.receipt = receipt
    self.slot = slot
    self.headers = headers
    self.resize = resize
    self.timeoutMilliseconds = timeoutMilliseconds
    self.maxBytes = maxBytes
    self.tags = tags
    self.ttl = ttl
  }

  /// Boxes are equal where everything in them is.
  package static func == (left: FetchExtras, right: FetchExtras) -> Bool {
    left.receipt == right.receipt && left.slot == right.slot && left.headers == right.headers
      && left.resize == right.resize && left.timeoutMilliseconds == right.timeoutMilliseconds
      && left.maxBytes == right.maxBytes && left.tags == right.tags && left.ttl == right.ttl
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

/// The size that a derived variant gets; at least one side is given, both unless it is contained.
package struct ResizeRequest: Hashable, Sendable {
  /// How a picture of other proportions meets the size: inside it, around it, or stretched.
  package enum Fit: String, CaseIterable, Sendable {
    case contain, cover, fill
  }

  package let width: Int?
  package let height: Int?
  package let fit: Fit
  /// A picture smaller than that grows.
  package let enlarge: Bool

  package init(width: Int?, height: Int?, fit: Fit = .contain, enlarge: Bool = false) {
    self.width = width
    self.height = height
    self.fit = fit
    self.enlarge = enlarge
  }
}
