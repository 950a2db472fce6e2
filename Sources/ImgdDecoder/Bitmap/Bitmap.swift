// BMP and ICO are decoded here. libvips leaves them to ImageMagick, which would bring along two hundred formats,
// its configuration files and its past; these two are short, and Swift checks every access.

import CVips
import ImgdDecode
import ImgdPicture

/// Decodes Windows bitmaps and icons.
enum Bitmap {
  static func decode(_ file: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    source.format == .ico ? try icon(file, source) : try picture(file, source)
  }

  private static func picture(_ file: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    let header = try BitmapHeader(file, at: 14)
    try source.check(width: header.width, height: header.height, frames: 1)
    let pixels = try BitmapPixels(file, header, from: try file.little32(10), height: header.height, keepsAlpha: false)
    return try VipsPicture(copying: pixels.bytes, width: pixels.width, height: pixels.height)
  }

  /// Decodes the largest entry of an icon; among several of that size, the one with the most colours.
  private static func icon(_ file: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    var best = (size: -1, depth: -1, start: 0, count: 0)
    for entry in 0..<(try file.little16(4)) {
      let place = 6 + 16 * entry
      // 0 stands for 256.
      let width = (Int(try file.at(place)) + 255) % 256 + 1
      let height = (Int(try file.at(place + 1)) + 255) % 256 + 1
      // In a cursor this field is part of the hot spot.
      let depth = try file.little16(2) == 1 ? try file.little16(place + 6) : 0
      if (width * height, depth) > (best.size, best.depth) {
        best = (width * height, depth, try file.little32(place + 12), try file.little32(place + 8))
      }
    }
    guard best.size > 0, best.start <= file.count, best.count <= file.count - best.start else {
      throw DecodeFailure(.damaged, "the data end too early")
    }
    let content = file.extracting(best.start..<best.start + best.count)
    if content.count > 8, try content.little32(0) == 0x474E_5089 {
      return try unsafe content.withUnsafeBufferPointer { bytes throws(DecodeFailure) in
        try unsafe Source(bytes, format: .png, limits: source.limits).open().computed()
      }
    }
    return try image(content, source)
  }

  /// Decodes a bitmap that is followed by its mask: one bit for each pixel, 1 for a pixel that is not seen.
  private static func image(_ content: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    let header = try BitmapHeader(content, at: 0)
    let height = header.height / 2
    try source.check(width: header.width, height: height, frames: 1)
    var pixels = try BitmapPixels(content, header, from: header.end, height: height, keepsAlpha: true)
    let hasAlpha =
      header.depth == 32 && stride(from: 3, to: pixels.bytes.count, by: 4).contains { pixels.bytes[$0] != 0 }
    if !hasAlpha {
      let colours = (header.width * header.depth + 31) / 32 * 4 * height
      let row = (header.width + 31) / 32 * 4
      for y in 0..<height {
        for x in 0..<header.width {
          // A missing mask hides nothing.
          let place = header.end + colours + y * row + x / 8
          let isHidden = place < content.count && content[place] >> (7 - x % 8) & 1 == 1
          let line = header.isTopDown ? y : height - 1 - y
          pixels.bytes[(line * header.width + x) * 4 + 3] = isHidden ? 0 : 255
        }
      }
    }
    return try VipsPicture(copying: pixels.bytes, width: pixels.width, height: pixels.height)
  }
}
