/// Numbers about decoders, for `stats`.
struct DecodingFigures: Equatable {
  /// Processes that take orders, and how many of them have one.
  var workers = 0
  var active = 0
  /// How many processes there may be.
  var mostWorkers = 0
  /// Orders that wait.
  var queued = 0
  /// Orders that were answered with a result, orders that were not, and processes that were killed
  /// or ended over an order.
  var completed = 0
  var failed = 0
  var killed = 0
}
