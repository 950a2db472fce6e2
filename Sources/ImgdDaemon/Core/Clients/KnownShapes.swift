import ImgdWire

/// The shapes of one client's lines.
///
/// If a client keeps sending lines of new shapes, fewer and fewer of them are learnt: the first line that no shape
/// fits, the second, the fourth.
struct KnownShapes {
  static let most = 4

  private var shapes: [LineShape] = []
  /// The shape that fitted last.
  private var last = 0
  /// The shape that is replaced next.
  private var oldest = 0
  /// How many lines in a row have fitted no shape.
  private var misfits = 0

  /// What varies in a line that has one of the shapes, and how the shape wants a hit shown.
  @inline(__always) mutating func find(_ line: Span<UInt8>) -> (LineShape.Parts, FetchRequest.Showing)? {
    guard last < shapes.count else { return nil }
    if let found = find(line, at: last) { return found }
    for index in shapes.indices where index != last {
      guard let found = find(line, at: index) else { continue }
      last = index
      return found
    }
    return nil
  }

  @inline(__always) private mutating func find(_ line: Span<UInt8>, at index: Int) -> (
    LineShape.Parts, FetchRequest.Showing
  )? {
    guard let parts = shapes[index].parts(of: line) else { return nil }
    misfits = 0
    return (parts, shapes[index].showing)
  }

  /// Learns from a line that no known shape fits.
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

  /// Forgets all shapes, since the client is gone.
  mutating func forgetAll(in all: LineShapes) {
    for shape in shapes { all.forget(shape) }
    shapes = []
  }
}
