import ImgdWire

/// The shapes of one client's lines.
///
/// If a client keeps sending lines of new shapes, fewer and fewer of them are learnt: the first line that no shape
/// fits, the second, the fourth.
struct KnownShapes {
  static let most = 4

  private var shapes: [KnownShape] = []
  /// The shape that fitted last.
  private var last = 0
  /// The shape that is replaced next.
  private var oldest = 0
  /// How many lines in a row have fitted no shape.
  private var misfits = 0

  /// What varies in a line that has one of the shapes, and how the shape wants a hit shown.
  @inline(__always) mutating func find(_ line: Span<UInt8>) -> KnownShape.Found? {
    guard last < shapes.count else { return nil }
    if let found = find(line, at: last) { return found }
    for index in shapes.indices where index != last {
      guard let found = find(line, at: index) else { continue }
      last = index
      return found
    }
    return nil
  }

  @inline(__always) private mutating func find(_ line: Span<UInt8>, at index: Int) -> KnownShape.Found? {
    guard let found = shapes.span[index].find(in: line, number: index) else { return nil }
    misfits = 0
    return found
  }

  /// What lines of a shape ask for besides; nil for pictures as their origins send them, without tags.
  @inline(__always) func further(of shape: Int) -> KnownShape.Further? { shapes[shape].further }

  /// Learns from a line that no known shape fits.
  mutating func learn(from line: Span<UInt8>, in all: LineShapes) {
    misfits += 1
    guard misfits & (misfits - 1) == 0, let shape = all.learn(from: line) else { return }
    if shapes.count < Self.most {
      shapes.append(shape)
      return last = shapes.count - 1
    }
    all.forget(shapes[oldest].line)
    shapes[oldest] = shape
    last = oldest
    oldest = (oldest + 1) % Self.most
  }

  /// Forgets all shapes: the client is gone, or a URL no longer says what it is shown.
  mutating func forgetAll(in all: LineShapes) {
    for shape in shapes { all.forget(shape.line) }
    shapes = []
  }
}

/// The shapes of all clients' lines, each kept once for all who send it.
final class LineShapes {
  private struct Use {
    let shape: KnownShape
    var clients = 0
  }

  private var uses = SteadyDictionary<LineShape, Use>()
  /// The bytes that the shapes take.
  private(set) var heldBytes = 0

  /// The shape of a line that asks for a picture which memory may have; counts one more client that
  /// sends it.
  func learn(from line: Span<UInt8>) -> KnownShape? {
    guard let shape = LineShape(line) else { return nil }
    var shared: KnownShape?
    uses.update(shape) { use in
      if use == nil { heldBytes += shape.cost }
      let known = use?.shape ?? KnownShape(shape)
      shared = known
      use = Use(shape: known, clients: (use?.clients ?? 0) + 1)
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
