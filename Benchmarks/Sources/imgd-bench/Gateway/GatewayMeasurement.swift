/// Pictures over HTTP: from the cache against nginx, made anew against vipsthumbnail, and what it takes.
///
/// All servers of a comparison share one processor: the gateway and the daemon behind it have together what
/// nginx has alone.
enum GatewayMeasurement {
  static let shapes = [
    Shape.alone, Shape(connections: 16, depth: 1), Shape(connections: 64, depth: 1),
  ]
  /// The form of the cached thumbnail.
  static let form = "&width=300&height=200&fit=cover"

  static func run(_ bench: Bench) throws(BenchFailure) {
    try GatewayMemory.run(bench)
    try GatewayHits.run(bench)
    try GatewayForms.run(bench)
  }
}
