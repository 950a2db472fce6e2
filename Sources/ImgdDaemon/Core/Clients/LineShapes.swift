import ImgdWire

/// The shapes of all clients' lines, each kept once for all who send it.
final class LineShapes {
  private struct Use {
    let shape: LineShape
    var clients = 0
  }

  private var uses = SteadyDictionary<LineShape, Use>()
  /// The bytes that the shapes take.
  private(set) var heldBytes = 0

  /// The shape of a line that asks for a picture which memory may have; counts one more client that
  /// sends it.
  func learn(from line: Span<UInt8>) -> LineShape? {
    guard let shape = LineShape(line) else { return nil }
    var shared = shape
    uses.update(shape) { use in
      if use == nil { heldBytes += shape.cost }
      shared = use?.shape ?? shape
      use = Use(shape: shared, clients: (use?.clients ?? 0) + 1)
    }
    return shared
  }

  /// Counts one client fewer that sends lines of a shape.
  func forget(_ shape: LineShape) {
    uses.update(shape) { use in
      use?.clients -= 1
      guard use?.clients == 0 else { return }
      use = nil
      heldBytes -= shape.cost
    }
  }
}
