import ImgdCache
import ImgdWire

/// A shape of lines, and the form in which they want their pictures.
struct KnownShape {
  /// What a line of a shape asks for; without references, since it is copied for each line.
  struct Found {
    let parts: LineShape.Parts
    let showing: FetchRequest.Showing
    /// Nil for what is not a brief answer (`BriefAnswer`).
    let brief: BriefAnswer?
    /// The number of the shape among those that its client sends.
    let shape: Int
    /// The tag of the URL in the memory tier, where it has been computed.
    var tag: UInt32?
  }

  /// What lines get that ask for a picture as its origin sends it, and for nothing that it does not always have.
  enum BriefAnswer { case facts, path }

  /// What few lines ask for besides.
  final class Further {
    /// Nil for pictures as their origins send them.
    let form: WantedRendition?
    let tags: [String]

    init?(_ line: LineShape) {
      form = WantedRendition(line.form, for: line.showing.delivery)
      tags = line.tags
      if form == nil, tags.isEmpty { return nil }
    }

    /// Whether there are tags that a picture lacks.
    func adds(to image: CachedImage, for uid: UInt32, _ access: Access) -> Bool {
      !tags.isEmpty && !image.hasAll(access.tags(tags, claimedBy: uid))
    }
  }

  let line: LineShape
  let further: Further?
  private let brief: BriefAnswer?

  init(_ line: LineShape) {
    self.line = line
    further = Further(line)
    brief =
      switch line.showing.delivery {
      case _ where further != nil || line.showing.http || line.showing.describe: nil
      case .none: .facts
      case .path: .path
      case .fd, .inline, .pixels: nil
      }
  }

  /// What a line asks for, if it has the shape, which is the `number`th of its client's.
  @inline(__always) func find(in line: Span<UInt8>, number: Int) -> Found? {
    guard let parts = self.line.parts(of: line) else { return nil }
    return Found(
      parts: parts, showing: self.line.showing, brief: parts.tag.isEmpty ? brief : nil, shape: number)
  }
}

/// Answers lines of known shapes, as far as that takes no parsing. It is an object, since with a closure each hit would
/// count references to its context.
protocol KnownLineAnswers: AnyObject {
  /// Whether a client is shown what is kept under a URL and nothing else.
  func mayAnswer(_ client: ReplyPlace) -> Bool
  /// Whether there are so many pictures that it is worth preparing for several lines.
  var looksAhead: Bool { get }
  /// Prepares for several lines that stand in these bytes.
  func prepare(_ ahead: LinesAhead, in bytes: Span<UInt8>)
  /// Answers a line; false where it has to be executed.
  func answer(
    _ line: Span<UInt8>, _ found: KnownShape.Found, with further: KnownShape.Further?, to client: ReplyPlace
  ) -> Bool
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
    forget()
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
  func forget() { if !lines.isEmpty { lines.removeAll(keepingCapacity: true) } }
}
