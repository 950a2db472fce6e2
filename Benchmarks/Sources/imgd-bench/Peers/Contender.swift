/// A server that gets equivalent requests as the others, in its own protocol.
struct Contender {
  let name: String
  let socket: String
  /// One request that is repeated, or many of the same length, sent in turn.
  let requests: [[UInt8]]
  let framing: Framing

  init(name: String, socket: String, request: [UInt8], framing: Framing) {
    self.init(name: name, socket: socket, requests: [request], framing: framing)
  }

  init(name: String, socket: String, requests: [[UInt8]], framing: Framing) {
    self.name = name
    self.socket = socket
    self.requests = requests
    self.framing = framing
  }

  func ask(_ shape: Shape, for seconds: Double) throws(BenchFailure) -> LoadResult {
    try run(Load(duration: seconds), shape)
  }

  /// Every request once, except a rest that is too small for all connections.
  func askOnce(_ shape: Shape) throws(BenchFailure) -> LoadResult {
    try run(Load(batches: requests.count / shape.depth / shape.connections), shape)
  }

  private func run(_ load: Load, _ shape: Shape) throws(BenchFailure) -> LoadResult {
    let repeated = requests.count == 1
    var load = load
    load.connections = shape.connections
    load.replies = shape.depth
    load.parts = repeated ? 1 : requests.count / shape.depth
    load.framing = framing
    let said =
      repeated
      ? Array(repeating: requests[0], count: shape.depth)
      : Array(requests.prefix(load.parts * shape.depth))
    let result = try load.run(on: socket, batch: Array(said.joined()))
    guard result.failures == 0 else {
      throw .unavailable("\(name): \(result.failures) of \(result.replies) replies refused")
    }
    return result
  }

  /// Runs each in turn for all rounds; returns the results grouped by contender.
  static func compare(
    _ contenders: [Contender], _ shape: Shape, rounds: Int, seconds: Double
  ) throws(BenchFailure) -> [[LoadResult]] {
    var results = contenders.map { _ in [LoadResult]() }
    pinLoad(true)
    for _ in 0..<rounds {
      for (index, contender) in contenders.enumerated() {
        results[index].append(try contender.ask(shape, for: seconds))
      }
    }
    pinLoad(false)
    return results
  }
}

/// The number of connections, and of requests in flight on each.
struct Shape {
  let connections: Int
  let depth: Int

  var name: String { "\(connections)×\(depth)" }

  static let alone = Shape(connections: 1, depth: 1)

  static let all = [
    alone, Shape(connections: 50, depth: 1),
    Shape(connections: 50, depth: 16), Shape(connections: 1, depth: 64),
  ]
}
