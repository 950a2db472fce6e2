import ImgdSystem
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

  /// The shape of a line that asks for a picture which memory may have, for one client more.
  func learn(from line: Span<UInt8>) -> LineShape? {
    guard let shape = LineShape(line), shape.request.isPlainest else { return nil }
    var shared = shape
    uses.update(shape) { use in
      if use == nil { heldBytes += shape.cost }
      shared = use?.shape ?? shape
      use = Use(shape: shared, clients: (use?.clients ?? 0) + 1)
    }
    return shared
  }

  /// One client less sends it.
  func forget(_ shape: LineShape) {
    uses.update(shape) { use in
      use?.clients -= 1
      guard use?.clients == 0 else { return }
      use = nil
      heldBytes -= shape.cost
    }
  }
}

/// The shapes of one client's lines.
///
/// A client whose lines are of ever new shapes learns fewer and fewer of them: the first that none fits,
/// the second, the fourth.
struct KnownShapes {
  static let most = 4

  private var shapes: [LineShape] = []
  /// The one that fitted last.
  private var last = 0
  /// The one that gives way next.
  private var oldest = 0
  /// How many lines in a row have fitted none.
  private var misfits = 0

  var count: Int { shapes.count }

  /// The places of the parts of a line that has one of the shapes, and whether it asks for a path.
  @inline(__always)
  mutating func find(_ line: Span<UInt8>) -> (parts: LineShape.Parts, wantsPath: Bool)? {
    guard last < shapes.count else { return nil }
    if let found = find(line, at: last) { return found }
    for index in shapes.indices where index != last {
      guard let found = find(line, at: index) else { continue }
      last = index
      return found
    }
    return nil
  }

  @inline(__always)
  private mutating func find(
    _ line: Span<UInt8>, at index: Int
  ) -> (parts: LineShape.Parts, wantsPath: Bool)? {
    guard let parts = shapes[index].parts(of: line) else { return nil }
    misfits = 0
    return (parts, shapes[index].request.delivery == .path)
  }

  /// Learns from a line that none has fitted.
  mutating func learn(from line: Span<UInt8>, in all: LineShapes) {
    misfits += 1
    guard misfits & (misfits - 1) == 0, let shape = all.learn(from: line) else { return }
    if shapes.count < Self.most {
      shapes.append(shape)
      return last = shapes.count - 1
    }
    all.forget(shapes[oldest])
    shapes[oldest] = shape
    last = oldest
    oldest = (oldest + 1) % Self.most
  }

  /// The client is gone.
  mutating func forgetAll(in all: LineShapes) {
    for shape in shapes { all.forget(shape) }
    shapes = []
  }
}
