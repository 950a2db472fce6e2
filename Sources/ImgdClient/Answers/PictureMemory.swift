internal import ImgdConnection
internal import ImgdSystem

/// The bytes of a picture where the daemon has put them: mapped, not copied, and the same for all who have
/// asked for it.
///
/// The memory stays as long as this object or a picture that holds it, whatever the daemon does. Its pages are
/// those of a sealed memfd, or of a file in the cache, which the daemon never changes.
public final class PictureMemory: Sendable {
  /// The way in which the bytes have to be read.
  public enum Layout: Hashable, Sendable {
    /// A file of the picture's format.
    case encoded
    /// Rows from top to bottom, `stride` bytes each; red, green, blue and alpha for each pixel.
    case pixels(width: Int, height: Int, stride: Int)
  }

  /// The way in which the bytes have to be read.
  public let layout: Layout
  private let memory: ReceivedMemory

  /// The number of bytes.
  public var count: Int { memory.count }

  /// The bytes, for as long as this object is there.
  public var bytes: RawSpan {
    @_lifetime(borrow self) get {
      // The mapping ends with this object, on which the span depends.
      unsafe _overrideLifetime(RawSpan(_unsafeBytes: memory.bytes), borrowing: self)
    }
  }

  /// The bytes as numbers.
  public var span: Span<UInt8> {
    @_lifetime(borrow self) get {
      let elements = unsafe memory.bytes.assumingMemoryBound(to: UInt8.self)
      return unsafe _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
    }
  }

  /// Calls `body` with the bytes, for functions that take a pointer; they may not be used afterwards.
  public func withUnsafeBytes<R, Failure: Error>(_ body: (UnsafeRawBufferPointer) throws(Failure) -> R) throws(Failure)
    -> R
  {
    try unsafe body(memory.bytes)
  }

  /// Maps what `fds` describes.
  init(_ description: Reply, _ descriptor: consuming FileDescriptor?, from path: String) throws(ConnectionProblem) {
    guard let descriptor else {
      throw .strange(path: path, what: "its answer came without the descriptor that it names")
    }
    guard let layout = Layout(description), let count = description.number("bytes"), layout.fits(into: count) else {
      throw .strange(path: path, what: "its answer describes no picture: \(description.json)")
    }
    self.layout = layout
    do throws(SystemFailure) { memory = try ReceivedMemory(descriptor, count: count) } catch {
      throw .failed(path: path, reason: error.description)
    }
  }
}

extension PictureMemory.Layout {
  fileprivate init?(_ description: Reply) {
    switch description.text("kind") {
    case "encoded": self = .encoded
    case "pixels":
      guard description.text("format") == "rgba8", let width = description.number("width"),
        let height = description.number("height"), let stride = description.number("stride")
      else { return nil }
      self = .pixels(width: width, height: height, stride: stride)
    default: return nil
    }
  }

  /// Whether this many bytes hold all of its rows.
  fileprivate func fits(into count: Int) -> Bool {
    guard case .pixels(let width, let height, let stride) = self else { return count >= 0 }
    let (row, isTooWide) = width.multipliedReportingOverflow(by: 4)
    let (whole, isTooHigh) = height.multipliedReportingOverflow(by: stride)
    return width > 0 && height > 0 && !isTooWide && !isTooHigh && row <= stride && whole <= count
  }
}
