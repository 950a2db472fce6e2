import CTestVips
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem
import ImgdTestSupport

@testable import ImgdDecoder

/// The library, which is started once for all tests of the process.
enum StartedLibrary {
  static let isThere = VipsLibrary.start()
}

/// Pixels that a test computes.
struct Pixels {
  let width: Int
  let height: Int
  private(set) var bytes: [UInt8] = []

  /// RGBA of each place.
  init(width: Int, height: Int, _ color: (_ x: Int, _ y: Int) -> [UInt8]) {
    self.width = width
    self.height = height
    for y in 0..<height {
      for x in 0..<width { bytes += color(x, y) }
    }
  }

  /// Smooth, since formats lose what is fine; each corner has another colour.
  static func gradient(width: Int = 64, height: Int = 48, alpha: UInt8 = 255) -> Pixels {
    Pixels(width: width, height: height) { x, y in
      [UInt8(x * 255 / width), UInt8(y * 255 / height), 128, alpha]
    }
  }

  /// All of one colour; also a large one costs little.
  static func plain(_ color: [UInt8], width: Int = 16, height: Int = 16) -> Pixels {
    let count = width * height * 4
    var bytes = color
    while bytes.count < count { bytes += bytes }
    return Pixels(width: width, height: height, bytes: Array(bytes.prefix(count)))
  }

  private init(width: Int, height: Int, bytes: [UInt8]) {
    (self.width, self.height, self.bytes) = (width, height, bytes)
  }

  func file(
    _ kind: test_vips_kind = TEST_VIPS_RGBA, as suffix: String, orientation: Int = 1,
    frames: Int = 1
  ) throws -> [UInt8] {
    guard StartedLibrary.isThere else { throw TestFailure("libvips does not start") }
    var start: UnsafeMutablePointer<UInt8>?
    var count = 0
    let code = test_vips_write(
      bytes, CInt(width), CInt(height), kind, suffix, CInt(orientation), CInt(frames), &start,
      &count)
    guard code == 0 else { throw TestFailure("\(suffix) cannot be written") }
    defer { free(start) }
    return Array(UnsafeBufferPointer(start: start, count: count))
  }
}

/// What became of an order.
func answer(
  _ file: [UInt8], _ format: PictureFormat,
  _ rendition: Rendition = Rendition(.pixels, frames: .first),
  limits: DecodeLimits = DecodeLimits()
) throws -> DecodeAnswer {
  guard StartedLibrary.isThere else { throw TestFailure("libvips does not start") }
  let order = DecodeOrder(
    serial: 1, format: format, picture: try Payload(file).shareable(), rendition: rendition,
    limits: limits)
  return DecodeWork.answer(order)
}

extension DecodeAnswer {
  func made() throws -> MadePicture {
    switch self {
    case .picture(let made): return made
    case .failure(let failure): throw TestFailure("\(failure.cause): \(failure.reason)")
    case .description: throw TestFailure("a description")
    }
  }

  var cause: DecodeFailure.Cause? {
    if case .failure(let failure) = self { failure.cause } else { nil }
  }

  var reason: String? {
    if case .failure(let failure) = self { failure.reason } else { nil }
  }
}

extension MadePicture {
  /// RGBA at a place.
  func color(_ x: Int, _ y: Int) -> [UInt8] {
    let start = (y * width + x) * 4
    return Array(content.bytes[start..<start + 4])
  }

  /// The pixels of a file that was made.
  func pixels() throws -> MadePicture {
    guard let format else { return self }
    return try answer(content.bytes, format).made()
  }

  /// The largest difference of any channel.
  func difference(from pixels: Pixels) -> Int {
    guard width == pixels.width, height == pixels.height else { return .max }
    return zip(content.bytes, pixels.bytes).map { abs(Int($0) - Int($1)) }.max() ?? .max
  }
}

/// The largest difference of any channel.
func difference(_ left: [UInt8], _ right: [UInt8]) -> Int {
  zip(left, right).map { abs(Int($0) - Int($1)) }.max() ?? .max
}
