import Glibc
import ImgdDecode

/// Makes the few bytes that stand for a picture.
enum DescriptionWork {
  /// The longest side that the algorithm accepts.
  private static let side = 100

  static func make(_ source: Source) throws(DecodeFailure) -> PictureDescription {
    let box = Rendition.Box(width: side, height: side)
    let picture = try FittedPicture(source, in: box).make().inRGBA()
    var pixels = [UInt8](repeating: 0, count: picture.width * picture.height * 4)
    var failure: DecodeFailure?
    unsafe pixels.withUnsafeMutableBytes { room in
      do throws(DecodeFailure) { try unsafe picture.write(to: room) } catch { failure = error }
    }
    if let failure { throw failure }
    return PictureDescription(
      thumbHash: ThumbHash.of(pixels, width: picture.width, height: picture.height), average: average(pixels))
  }

  /// The mean of the colours, weighted by how visible each is, and of the alpha.
  private static func average(_ pixels: [UInt8]) -> [UInt8] {
    var sums = [0, 0, 0]
    var seen = 0
    for pixel in stride(from: 0, to: pixels.count, by: 4) {
      let alpha = Int(pixels[pixel + 3])
      for channel in 0..<3 { sums[channel] += alpha * Int(pixels[pixel + channel]) }
      seen += alpha
    }
    let count = max(1, pixels.count / 4)
    return sums.map { UInt8(seen == 0 ? 0 : ($0 + seen / 2) / seen) } + [UInt8((seen + count / 2) / count)]
  }
}

// ThumbHash, after its published description (evanw.github.io/thumbhash): a cosine transform of brightness, of two
// differences of colours and of alpha, each cut to its slowest waves, at four bits a wave. A header states the
// means, how strong the waves are, and the proportions.

enum ThumbHash {
  /// The hash of straight RGBA of at most 100 pixels a side.
  static func of(_ pixels: [UInt8], width: Int, height: Int) -> [UInt8] {
    let planes = Planes(pixels)
    let longer = Double(max(width, height))
    let most = planes.hasAlpha ? 5.0 : 7.0
    let across = max(1, Int((most * Double(width) / longer).rounded()))
    let down = max(1, Int((most * Double(height) / longer).rounded()))
    let plane = { (values: [Double], across: Int, down: Int) in
      Waves(values, width: width, height: height, across: across, down: down)
    }
    let light = plane(planes.light, max(3, across), max(3, down))
    let yellow = plane(planes.yellow, 3, 3)
    let red = plane(planes.red, 3, 3)
    let alpha = planes.hasAlpha ? plane(planes.alpha, 5, 5) : nil

    let isWide = width > height
    let means =
      bits(63 * light.mean) | bits(31.5 + 31.5 * yellow.mean) << 6 | bits(31.5 + 31.5 * red.mean) << 12 | bits(
        31 * light.strength) << 18 | (alpha == nil ? 0 : 1) << 23
    let shape =
      (isWide ? down : across) | bits(63 * yellow.strength) << 3 | bits(63 * red.strength) << 9 | (isWide ? 1 : 0) << 15
    var hash = [means, means >> 8, means >> 16, shape, shape >> 8].map { UInt8(truncatingIfNeeded: $0) }
    if let alpha { hash.append(UInt8(truncatingIfNeeded: bits(15 * alpha.mean) | bits(15 * alpha.strength) << 4)) }
    let all = [light, yellow, red, alpha].compactMap { $0 }.flatMap(\.relative)
    for pair in stride(from: 0, to: all.count, by: 2) {
      let second = pair + 1 < all.count ? bits(15 * all[pair + 1]) : 0
      hash.append(UInt8(truncatingIfNeeded: bits(15 * all[pair]) | second << 4))
    }
    return hash
  }

  private static func bits(_ value: Double) -> Int { Int(value.rounded()) }
}

/// The channels that are transformed; what cannot be seen has the mean colour.
private struct Planes {
  private(set) var light: [Double] = []
  private(set) var yellow: [Double] = []
  private(set) var red: [Double] = []
  private(set) var alpha: [Double] = []
  let hasAlpha: Bool

  init(_ pixels: [UInt8]) {
    let starts = stride(from: 0, to: pixels.count, by: 4)
    var sums = (red: 0.0, green: 0.0, blue: 0.0, alpha: 0.0)
    for start in starts {
      let alpha = Double(pixels[start + 3]) / 255
      sums.red += alpha / 255 * Double(pixels[start])
      sums.green += alpha / 255 * Double(pixels[start + 1])
      sums.blue += alpha / 255 * Double(pixels[start + 2])
      sums.alpha += alpha
    }
    let seen = sums.alpha > 0 ? sums.alpha : 1
    hasAlpha = sums.alpha < Double(pixels.count / 4)
    for start in starts {
      let alpha = Double(pixels[start + 3]) / 255
      let color = (
        red: sums.red / seen * (1 - alpha) + alpha / 255 * Double(pixels[start]),
        green: sums.green / seen * (1 - alpha) + alpha / 255 * Double(pixels[start + 1]),
        blue: sums.blue / seen * (1 - alpha) + alpha / 255 * Double(pixels[start + 2])
      )
      light.append((color.red + color.green + color.blue) / 3)
      yellow.append((color.red + color.green) / 2 - color.blue)
      red.append(color.red - color.green)
      self.alpha.append(alpha)
    }
  }
}

private struct Waves {
  private(set) var mean = 0.0
  /// The strength of the strongest wave.
  private(set) var strength = 0.0
  /// The waves from 0 to 1, where one half means no wave.
  private(set) var relative: [Double] = []

  init(_ plane: [Double], width: Int, height: Int, across: Int, down: Int) {
    let columns = Self.cosines(count: across, length: width)
    let rows = Self.cosines(count: down, length: height)
    for y in 0..<down {
      var x = 0
      while x * down < across * (down - y) {
        var sum = 0.0
        for line in 0..<height {
          var lineSum = 0.0
          for place in 0..<width { lineSum += plane[line * width + place] * columns[x][place] }
          sum += lineSum * rows[y][line]
        }
        sum /= Double(width * height)
        if x == 0, y == 0 { mean = sum } else { relative.append(sum) }
        x += 1
      }
    }
    strength = relative.map { abs($0) }.max() ?? 0
    if strength > 0 { relative = relative.map { [strength] in 0.5 + 0.5 / strength * $0 } }
  }

  private static func cosines(count: Int, length: Int) -> [[Double]] {
    (0..<count).map { wave in
      let step = Double.pi / Double(length) * Double(wave)
      return (0..<length).map { cos(step * (Double($0) + 0.5)) }
    }
  }
}
