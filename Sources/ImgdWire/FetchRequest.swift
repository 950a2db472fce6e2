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
  private var box: ExtrasBox?

  package init(url: String) {
    self.url = url
  }

  /// The rare fields; a request that has none of them has no box for them.
  package var extras: FetchExtras {
    get { box?.extras ?? FetchExtras() }
    set { box = newValue == FetchExtras() ? nil : ExtrasBox(newValue) }
  }

  /// The form in which the picture is wanted.
  package var form: PictureForm {
    get { box?.extras.form ?? PictureForm() }
    set { extras.form = newValue }
  }

  package var hasExtras: Bool { box != nil }
  package var receipt: ReceiptID? { box?.extras.receipt }
  package var slot: String? { box?.extras.slot }
  package var headers: [RequestHeader] { box?.extras.headers ?? [] }
  package var describe: Bool { box?.extras.describe ?? false }
  package var share: String? { box?.extras.share }
  package var timeoutMilliseconds: Int? { box?.extras.timeoutMilliseconds }
  package var maxBytes: Int? { box?.extras.maxBytes }
  package var tags: [String] { box?.extras.tags ?? [] }
  package var ttl: Int? { box?.extras.ttl }
}

extension FetchRequest {
  /// How a hit is shown.
  package struct Showing: Sendable {
    package let delivery: Delivery
    package let http: Bool
    package let describe: Bool
  }

  package var showing: Showing { Showing(delivery: delivery, http: http, describe: describe) }
}

/// The fields of a fetch that are rarely given.
package struct FetchExtras: Equatable, Sendable {
  /// The client's own receipt.
  package var receipt: ReceiptID?
  package var slot: String?
  /// Headers to add, in the order they were given.
  package var headers: [RequestHeader] = []
  package var form = PictureForm()
  /// Whether the reply includes a placeholder.
  package var describe = false
  /// The part of the connection's share of the decoders that pays for it.
  package var share: String?
  /// The deadline of the whole request.
  package var timeoutMilliseconds: Int?
  /// A larger body is refused.
  package var maxBytes: Int?
  package var tags: [String] = []
  /// Seconds of freshness to use instead of the origin's.
  package var ttl: Int?

  package init() {}
}

private final class ExtrasBox: Equatable, Sendable {
  let extras: FetchExtras

  init(_ extras: FetchExtras) {
    self.extras = extras
  }

  static func == (left: ExtrasBox, right: ExtrasBox) -> Bool { left.extras == right.extras }
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
