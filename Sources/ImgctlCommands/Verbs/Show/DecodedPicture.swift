import ImgdConnection
import ImgdSystem

/// A decoded picture in memory that the daemon lends, read where it lies.
struct DecodedPicture: ~Copyable {
  let width: Int
  let height: Int
  /// The bytes from the beginning of one row to the beginning of the next.
  let stride: Int
  private let memory: ReceivedMemory

  /// The pixels that came with an answer.
  init(_ reply: Reply, _ descriptor: consuming FileDescriptor) throws(Failure) {
    let (width, height, stride) = try Self.measures(reply.objects("fds")?.first)
    do throws(SystemFailure) { memory = try ReceivedMemory(descriptor, count: stride * height) } catch {
      throw Failure(error)
    }
    self.width = width
    self.height = height
    self.stride = stride
  }

  private static func measures(_ fields: Reply?) throws(Failure) -> (width: Int, height: Int, stride: Int) {
    guard let fields, fields.text("format") == "rgba8", let width = fields.number("width"), 1...65_535 ~= width,
      let height = fields.number("height"), 1...65_535 ~= height, let stride = fields.number("stride"),
      width * 4...1 << 20 ~= stride
    else { throw Failure(.failed, "the daemon described its pixels in a way unknown to imgctl") }
    return (width, height, stride)
  }

  /// Lends the bytes of all rows: red, green, blue and alpha of each pixel.
  func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    unsafe body(memory.bytes.assumingMemoryBound(to: UInt8.self))
  }
}
