/// The limits of the protocol; the configurable ones are instance properties.
package struct WireLimits: Equatable, Sendable {
  /// Bytes of a request line without its newline.
  package var line = 64 * 1024
  /// Receipts of one connection at a time.
  package var receipts = 10_000
  /// Fetches of all connections that wait in the queue.
  package var queued = 100_000
  /// Bytes of the requests of one connection that are under way.
  package var requestBytes = 16 << 20
  /// Bytes of all requests that are under way.
  package var requestBytesOfAll = 64 << 20
  package var connections = 1024
  /// Bytes that a client may leave unread before its requests wait.
  package var unsentOutput = 256 * 1024
  /// Descriptors that a client may leave unread before its requests wait.
  package var unsentDescriptors = 64
  /// Seconds after which a client that reads nothing is disconnected.
  package var stallSeconds = 30
  /// Milliseconds between the spaces sent to a half-closed connection that waits for an answer.
  package var spaceIntervalMilliseconds = 250

  package init() {}

  /// The limits without any configuration.
  package static let standard = WireLimits()

  /// Bytes of an `id` that is a string.
  package static let id = 64
  package static let url = 8 * 1024
  package static let identifier = 256
  package static let slot = 128
  package static let share = 64
  /// Bytes of a text that is sought in URLs.
  package static let part = 256
  /// Tags of one fetch.
  package static let tags = 16
  /// Bytes of one tag.
  package static let tag = 64
  /// Headers of one fetch.
  package static let headers = 64
  /// Bytes of the cursor of a page: enough for the key of an entry.
  package static let cursor = 16 * 1024
  /// Bytes of a host name, from RFC 1035.
  package static let host = 255
  /// The quality of another encoding; 100 is the best.
  package static let quality = 1...100
  /// Pixels of a side of a derived variant.
  package static let side = 1...65_535
  /// Up to one day.
  package static let timeoutMilliseconds = 1...86_400_000
  /// Ages and freshness, up to ten years.
  package static let seconds = 0...315_360_000
  /// Entries of one page.
  package static let entries = 1...1000
}
