/// The numbers that the gateway itself counts, for its metrics.
package struct GatewayCounters: Equatable {
  package var server = HTTPCounters()
  /// Bytes of pictures in answers.
  package var bytesSent = 0
  /// Answers that were given again without asking the daemon.
  package var held = 0
  /// Requests refused because their address had too many.
  package var limited = 0

  package init() {}
}
