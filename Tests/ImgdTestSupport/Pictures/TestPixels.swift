/// RGBA of 8 bits, row after row: what a test puts into a picture, and compares with what comes out.
package struct TestPixels: Equatable, Sendable {
  package let width: Int
  package let height: Int
  package private(set) var bytes: [UInt8]

  package init(width: Int, height: Int, bytes: [UInt8]) {
    precondition(bytes.count == width * height * 4, "each pixel has four bytes")
    self.width = width
    self.height = height
    self.bytes = bytes
  }

  /// The colour of each pixel by its place: red, green, blue, alpha.
  package init(width: Int, height: Int, colour: (_ x: Int, _ y: Int) -> [UInt8]) {
    var bytes: [UInt8] = []
    for y in 0..<height { for x in 0..<width { bytes += colour(x, y) } }
    self.init(width: width, height: height, bytes: bytes)
  }

  /// The four bytes of one pixel.
  package subscript(x: Int, y: Int) -> [UInt8] {
    Array(bytes[(y * width + x) * 4..<(y * width + x) * 4 + 4])
  }

  /// Smooth colours, no two corners of which are alike: a lossy format changes them little.
  package static func gradient(width: Int, height: Int) -> TestPixels {
    TestPixels(width: width, height: height) { x, y in
      let (across, down) = (200 * x / max(1, width - 1), 200 * y / max(1, height - 1))
      return [UInt8(20 + across), UInt8(20 + down), UInt8(220 - across), 255]
    }
  }

  /// One colour everywhere.
  package static func plain(_ colour: [UInt8], width: Int = 16, height: Int = 16) -> TestPixels {
    TestPixels(width: width, height: height) { _, _ in colour }
  }

  /// The greatest difference of one value; nil when the sizes differ.
  package func distance(to other: TestPixels) -> Int? {
    guard width == other.width, height == other.height else { return nil }
    return zip(bytes, other.bytes).map { abs(Int($0) - Int($1)) }.max() ?? 0
  }

  /// Turned by a quarter to the right, as a picture with orientation 6 is shown.
  package var turnedRight: TestPixels {
    TestPixels(width: height, height: width) { x, y in self[y, height - 1 - x] }
  }
}
