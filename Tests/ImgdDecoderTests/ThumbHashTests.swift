import Glibc
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct ThumbHashTests {
  @Test func `the hash shows the picture again`() throws {
    for (width, height, alpha) in [(80, 60, 255), (60, 80, 255), (100, 20, 255)] {
      let pixels = Pixels.gradient(width: width, height: height, alpha: UInt8(alpha))
      let hash = ThumbHash.of(pixels.bytes, width: width, height: height)
      #expect((15...32).contains(hash.count), "\(hash.count) bytes")
      for (x, y) in [(0.1, 0.1), (0.9, 0.1), (0.5, 0.5), (0.1, 0.9), (0.9, 0.9)] {
        let shown = ShownHash(hash).color(x, y)
        let start = (Int(y * Double(height)) * width + Int(x * Double(width))) * 4
        #expect(
          difference(shown, Array(pixels.bytes[start..<start + 4])) <= 40, "\(width)x\(height)")
      }
    }
  }

  @Test func `alpha takes a byte and its own waves`() {
    let pixels = Pixels.gradient(width: 50, height: 50, alpha: 100)
    let hash = ThumbHash.of(pixels.bytes, width: 50, height: 50)
    let shown = ShownHash(hash).color(0.5, 0.5)
    #expect(difference(shown, [127, 127, 128, 100]) <= 12)
  }

  /// From the rules for the header alone: means of 6 bits, no waves, and the counts of waves.
  @Test func `a picture of one colour has a hash that can be told`() {
    let white = Pixels.plain([255, 255, 255, 255], width: 10, height: 10)
    let hash = ThumbHash.of(white.bytes, width: 10, height: 10)
    // 63 | 32 << 6 | 32 << 12, then 7 for both sides.
    #expect(hash.prefix(5) == [0x3F, 0x08, 0x02, 0x07, 0x00])
    let clear = Pixels.plain([0, 0, 0, 0], width: 10, height: 5)
    let nothing = ThumbHash.of(clear.bytes, width: 10, height: 5)
    #expect(nothing[2] & 0x80 == 0x80)
    #expect(nothing[4] & 0x80 == 0x80)
    #expect(nothing[5] == 0)
  }

  @Test func `a description has the mean colour`() throws {
    let half = Pixels(width: 200, height: 100) { x, _ in
      x < 100 ? [200, 100, 0, 255] : [0, 100, 200, 0]
    }
    let rendition = Rendition(.description)
    guard case .description(let made) = try answer(try half.file(as: ".png"), .png, rendition)
    else {
      Issue.record("no description")
      return
    }
    #expect(difference(made.average, [200, 100, 0, 128]) <= 3)
    #expect((15...32).contains(made.thumbHash.count))
    let plain = Pixels.plain([10, 20, 30, 255])
    guard case .description(let other) = try answer(try plain.file(as: ".png"), .png, rendition)
    else {
      Issue.record("no description")
      return
    }
    #expect(other.average == [10, 20, 30, 255])
  }
}

/// Colours of a hash, by the published rules for showing it, without the stronger colours that they ask for.
private struct ShownHash {
  private let means: [Double]
  private let waves: [[(x: Int, y: Int, value: Double)]]
  private let hasAlpha: Bool

  init(_ hash: [UInt8]) {
    let first = Int(hash[0]) | Int(hash[1]) << 8 | Int(hash[2]) << 16
    let second = Int(hash[3]) | Int(hash[4]) << 8
    hasAlpha = first >> 23 == 1
    let isWide = second >> 15 == 1
    let most = hasAlpha ? 5 : 7
    let across = max(3, isWide ? most : second & 7)
    let down = max(3, isWide ? second & 7 : most)
    means = [
      Double(first & 63) / 63, Double(first >> 6 & 63) / 31.5 - 1,
      Double(first >> 12 & 63) / 31.5 - 1, hasAlpha ? Double(hash[5] & 15) / 15 : 1,
    ]
    let strengths = [
      Double(first >> 18 & 31) / 31, Double(second >> 3 & 63) / 63,
      Double(second >> 9 & 63) / 63, hasAlpha ? Double(hash[5] >> 4) / 15 : 0,
    ]
    let sides = [(across, down), (3, 3), (3, 3)] + (hasAlpha ? [(5, 5)] : [])
    var next = (hasAlpha ? 6 : 5) * 2
    waves = sides.enumerated().map { channel, side in
      var list: [(x: Int, y: Int, value: Double)] = []
      for y in 0..<side.1 {
        for x in (y == 0 ? 1 : 0)..<max(side.0, 1) where x * side.1 < side.0 * (side.1 - y) {
          let level = Double(hash[next / 2] >> UInt8(next % 2 * 4) & 15)
          list.append((x, y, (level / 7.5 - 1) * strengths[channel]))
          next += 1
        }
      }
      return list
    }
  }

  /// At a place from 0 to 1.
  func color(_ x: Double, _ y: Double) -> [UInt8] {
    var values = means
    for (channel, list) in waves.enumerated() {
      for wave in list {
        values[channel] +=
          2 * wave.value * cos(.pi * x * Double(wave.x)) * cos(.pi * y * Double(wave.y))
      }
    }
    let blue = values[0] - 2 / 3.0 * values[1]
    let red = (3 * values[0] - blue + values[2]) / 2
    let green = red - values[2]
    return [red, green, blue, values[3]].map { UInt8(max(0, min(1, $0)) * 255) }
  }
}
