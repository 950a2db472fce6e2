import ImgdDecode

/// The edge at which orders for decoders leave the core. A test replaces it: behind it are other
/// processes.
protocol Decoding: AnyObject {
  /// Begins an order in its turn. Its answer comes once, at once or later, unless the order is aborted.
  func begin(_ queued: QueuedOrder)
  /// Somebody more waits for an order: it starts with the first of them whose turn comes.
  func join(serial: UInt64, _ claim: DecodeClaim)
  /// One of several does not wait any more.
  func leave(serial: UInt64, _ claim: DecodeClaim)
  /// Gives an order up: one that waits is dropped; one that runs goes on, and its answer is dropped.
  func abort(serial: UInt64)
  /// Tells what decoders can do here, and starts one to find out if none has run yet. `then` is called
  /// once, at once or within seconds.
  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void)
  /// What decoders do now, and have done.
  var figures: DecodingFigures { get }
}
