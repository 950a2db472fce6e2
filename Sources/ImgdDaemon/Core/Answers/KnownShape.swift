import ImgdWire

/// A shape of lines, and the form in which they want their pictures.
struct KnownShape {
  /// What a line of a shape asks for; without references, since it is copied for each line.
  struct Found {
    let parts: LineShape.Parts
    let showing: FetchRequest.Showing
    /// The number of the shape among those that its client sends.
    let shape: Int
    /// The tag of the URL in the memory tier, where it has been computed.
    var tag: UInt32?
  }

  let line: LineShape
  /// Nil for pictures as their origins send them.
  let form: WantedRendition?

  init(_ line: LineShape) {
    self.line = line
    form = WantedRendition(line.form, for: line.showing.delivery)
  }
}

/// The lines of one read that have known shapes, from before the first of them is answered.
///
/// Each answer with another picture waits for memory most of its time. If all are known beforehand, the processor can
/// fetch for all of them at the same time.
@safe final class LinesAhead {
  /// More of them would push what the first ones need out of the processor's nearest memory.
  static let most = 64

  struct Line {
    let place: Range<Int>
    var found: KnownShape.Found
  }

  var lines: [Line] = []
  private var next = 0
  // Safe: it is compared with, and nothing is read there.
  private var start: UnsafeRawPointer?

  /// Finds the lines of a read; false if there are not several.
  func find(in bytes: Span<UInt8>, _ find: (Span<UInt8>) -> KnownShape.Found?) -> Bool {
    lines.removeAll(keepingCapacity: true)
    next = 0
    var begin = 0
    while lines.count < Self.most, let end = LineFramer.newline(in: bytes, from: begin) {
      if begin == 0, end + 1 == bytes.count { return false }
      if let found = find(bytes.extracting(begin..<end)) { lines.append(Line(place: begin..<end, found: found)) }
      begin = end + 1
    }
    unsafe start = bytes.withUnsafeBytes { $0.baseAddress }
    return lines.count > 1
  }

  /// What a line asks for, if it is the next of those that were found.
  @inline(__always) func next(_ line: Span<UInt8>) -> KnownShape.Found? {
    guard next < lines.count else { return nil }
    let offset = unsafe line.withUnsafeBytes { line in
      unsafe line.baseAddress.flatMap { at in unsafe start.map { unsafe at - $0 } }
    }
    while next < lines.count, lines[next].place.lowerBound < offset ?? .max { next += 1 }
    guard next < lines.count, lines[next].place.lowerBound == offset, lines[next].place.count == line.count else {
      return nil
    }
    return lines[next].found
  }

  /// Forgets the lines, which have been read.
  func forget() { lines.removeAll(keepingCapacity: true) }
}
