import ImgdDecode

/// The edge at which orders for decoders leave the core. A test replaces it: behind it are other
/// processes.
protocol Decoding: AnyObject {
  /// Begins an order in its turn. It is answered once, immediately or later, unless it is aborted.
  func begin(_ queued: QueuedOrder)
  /// Adds a claim on an order, which starts with the first claimant whose turn comes.
  func join(serial: UInt64, _ claim: DecodeClaim)
  /// Takes back one of several claims on an order.
  func leave(serial: UInt64, _ claim: DecodeClaim)
  /// Gives up an order: one that waits is dropped; one that runs goes on, and its answer is dropped.
  func abort(serial: UInt64)
  /// Tells what decoders can do here, and starts one to find out if none has run yet. `then` is called once,
  /// immediately or within seconds.
  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void)
  /// What decoders are doing now, and have done.
  var figures: DecodingFigures { get }
}
