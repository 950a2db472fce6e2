import ImgdDecode

/// The pixels of a bitmap as RGBA.
struct BitmapPixels {
  let width: Int
  let height: Int
  /// All of them opaque if the file has no alpha.
  var bytes: [UInt8]

  /// Reads the pixels from `start` on; `height` is that of the header, without the mask of an icon. The fourth byte
  /// of plain 32-bit pixels is alpha only in icons, so only they keep it.
  init(_ file: Span<UInt8>, _ header: BitmapHeader, from start: Int, height: Int, keepsAlpha: Bool)
    throws(DecodeFailure)
  {
    width = header.width
    self.height = height
    let indices: [UInt8]?
    switch header.compression {
    case .runs8, .runs4: indices = try BitmapRuns.indices(file, header, from: start)
    default: indices = nil
    }
    let row = (header.width * header.depth + 31) / 32 * 4
    guard indices != nil || row * height <= file.count - start else {
      throw DecodeFailure(.damaged, "the data end too early")
    }
    bytes = [UInt8](repeating: 255, count: width * height * 4)
    for y in 0..<height {
      let line = header.isTopDown ? y : height - 1 - y
      for x in 0..<width {
        let target = (line * width + x) * 4
        let place = start + y * row
        switch header.depth {
        case 1, 4, 8:
          let index = indices.map { Int($0[y * width + x]) } ?? Self.index(file, place, x, header.depth)
          guard index < header.palette.count else { continue }
          for channel in 0..<3 { bytes[target + channel] = header.palette[index][channel] }
        case 24: for channel in 0..<3 { bytes[target + channel] = file[place + 3 * x + 2 - channel] }
        default:
          let size = header.depth / 8
          var pixel = 0
          for byte in 0..<size { pixel |= Int(file[place + size * x + byte]) << (8 * byte) }
          for channel in 0..<4 { bytes[target + channel] = header.masks.value(channel, of: pixel) }
          if keepsAlpha, size == 4 { bytes[target + 3] = UInt8(pixel >> 24) }
        }
      }
    }
  }

  private static func index(_ file: Span<UInt8>, _ row: Int, _ x: Int, _ depth: Int) -> Int {
    let bit = x * depth
    return Int(file[row + bit / 8]) >> (8 - depth - bit % 8) & (1 << depth - 1)
  }
}

/// Bitmaps with run lengths, in which equal pixels are counted.
enum BitmapRuns {
  /// An index for each pixel, rows as in the file; pixels that are left out have the first colour.
  static func indices(_ file: Span<UInt8>, _ header: BitmapHeader, from start: Int) throws(DecodeFailure) -> [UInt8] {
    var indices = [UInt8](repeating: 0, count: header.width * header.height)
    let isHalf = header.compression == .runs4
    var (x, y, place) = (0, 0, start)
    func put(_ index: UInt8) {
      if x < header.width, y < header.height { indices[y * header.width + x] = index }
      x += 1
    }
    while y < header.height {
      let count = Int(try file.at(place))
      let value = try file.at(place + 1)
      place += 2
      if count > 0 {
        for number in 0..<count { put(isHalf ? (number % 2 == 0 ? value >> 4 : value & 15) : value) }
        continue
      }
      switch value {
      case 0: (x, y) = (0, y + 1)
      case 1: return indices
      case 2:
        x += Int(try file.at(place))
        y += Int(try file.at(place + 1))
        place += 2
      default:
        let bytes = isHalf ? (Int(value) + 1) / 2 : Int(value)
        for number in 0..<Int(value) {
          let byte = try file.at(place + (isHalf ? number / 2 : number))
          put(isHalf ? (number % 2 == 0 ? byte >> 4 : byte & 15) : byte)
        }
        place += (bytes + 1) / 2 * 2
      }
    }
    return indices
  }
}
