/// The numbers of the contract, in one place; those an operator can change are set from outside.
package struct WireLimits: Sendable, Equatable {
  /// Bytes of a request line.
  package var line = 64 << 10
  /// Bytes of a URL.
  package var url = 8 << 10
  /// Bytes of an `id` that is a string.
  package var id = 64
  package var identifier = 256
  package var slot = 128
  /// Tags of one request, and bytes of one tag.
  package var tags = 16
  package var tag = 64
  /// Extra headers of one request.
  package var headers = 64
  package var clients = 1_024
  package var receiptsPerConnection = 10_000
  /// Fetches under way in all.
  package var queued = 100_000
  /// Output that waits for a client before its input has to wait too.
  package var unsentBytes = 256 << 10
  package var unsentDescriptors = 64
  /// How long a client may take nothing.
  package var stall = Duration.seconds(30)
  /// How often a waiting half-closed connection is sent a space.
  package var spaceInterval = Duration.milliseconds(250)

  package init() {}
}
