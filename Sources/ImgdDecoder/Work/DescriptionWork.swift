import ImgdDecode

/// Makes the few bytes that stand for a picture.
enum DescriptionWork {
  /// The longest side that the algorithm accepts.
  private static let side = 100

  static func make(_ source: Source) throws(DecodeFailure) -> PictureDescription {
    let box = Rendition.Box(width: side, height: side)
    let picture = try FittedPicture(try source.open(), of: source, in: box).make().inRGBA()
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
