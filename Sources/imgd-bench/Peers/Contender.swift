/// A server that is asked for the same thing as the others, in its own language.
struct Contender {
  let name: String
  let socket: String
  let request: [UInt8]
  let framing: Framing

  func ask(_ shape: Shape, for seconds: Double) throws(BenchFailure) -> LoadResult {
    let batch = Array(repeatElement(request, count: shape.depth).joined())
    let load = Load(
      connections: shape.connections, replies: shape.depth, duration: seconds, framing: framing)
    let result = try load.run(on: socket, batch: batch)
    guard result.failures == 0 else {
      throw .unavailable("\(name): \(result.failures) of \(result.replies) replies refused")
    }
    return result
  }

  /// A round of each in turn, as often as there are rounds; the results of one stand together.
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

/// How many connections, and how many requests each has on its way.
struct Shape {
  let connections: Int
  let depth: Int

  var name: String { "\(connections)×\(depth)" }

  static let all = [
    Shape(connections: 1, depth: 1), Shape(connections: 50, depth: 1),
    Shape(connections: 50, depth: 16), Shape(connections: 1, depth: 64),
  ]
}
