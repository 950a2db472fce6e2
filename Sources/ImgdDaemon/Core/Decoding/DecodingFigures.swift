import ImgdDecode

/// Numbers about decoders, for `stats`.
struct DecodingFigures: Equatable {
  /// How much of the sandbox the decoders have.
  enum Sandbox: String {
    case full, partial, off
  }

  /// Processes that take orders, and how many of them have one.
  var workers = 0
  var active = 0
  /// How many there may be.
  var mostWorkers = 0
  /// Orders that wait, and the bytes of their pictures.
  var queued = 0
  var queuedBytes = 0
  /// Orders that were answered with a result, those that were not, and processes that were killed
  /// or ended over one.
  var completed = 0
  var failed = 0
  var killed = 0
  /// Nil until a decoder has greeted.
  var sandbox: Sandbox?
}

extension DecodingFigures.Sandbox {
  /// What these layers amount to.
  init(_ layers: DecoderAbilities.Layers) {
    self = layers.isSuperset(of: .all) ? .full : layers.isEmpty ? .off : .partial
  }
}
