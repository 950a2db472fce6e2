// BMP and ICO are decoded here. libvips leaves them to ImageMagick, which would bring along two hundred formats,
// its configuration files and its past; these two are short, and Swift checks every access.

import CVips
import ImgdDecode
import ImgdPicture

enum Bitmap {
  static func decode(_ file: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    source.format == .ico ? try icon(file, source) : try picture(file, source)
  }

  private static func picture(_ file: Span<UInt8>, _ source: Source) throws(DecodeFailure) -> VipsPicture {
    let header = try BitmapHeader(file, at: 14)
    try source.check(width: header.width, height: header.height, frames: 1)
    let pixels = try BitmapPixels.read(
      file, header, from: try file.little32(10), height: header.height, keepsAlpha: false)
    return try VipsPicture(copying: pixels, width: header.width, height: header.height)
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
    var pixels = try BitmapPixels.read(content, header, from: header.end, height: height, keepsAlpha: true)
    let hasAlpha = header.depth == 32 && stride(from: 3, to: pixels.count, by: 4).contains { pixels[$0] != 0 }
    if !hasAlpha {
      let colours = (header.width * header.depth + 31) / 32 * 4 * height
      let row = (header.width + 31) / 32 * 4
      for y in 0..<height {
        for x in 0..<header.width {
          // A missing mask hides nothing.
          let place = header.end + colours + y * row + x / 8
          let isHidden = place < content.count && content[place] >> (7 - x % 8) & 1 == 1
          let line = header.isTopDown ? y : height - 1 - y
          pixels[(line * header.width + x) * 4 + 3] = isHidden ? 0 : 255
        }
      }
    }
    return try VipsPicture(copying: pixels, width: header.width, height: height)
  }
}

/// The header of a Windows bitmap, as found in a BMP and in the entries of an ICO.
struct BitmapHeader {
  enum Compression: Int {
    case none = 0
    case runs8, runs4, masks
    case masksWithAlpha = 6
  }

  let width: Int
  /// In an icon it counts the rows of the mask as well.
  let height: Int
  let isTopDown: Bool
  let depth: Int
  let compression: Compression
  /// Red, green and blue of each colour.
  let palette: [[UInt8]]
  let masks: ChannelMasks
  /// Where the palette ends: in an icon the pixels follow.
  let end: Int

  init(_ bytes: Span<UInt8>, at start: Int) throws(DecodeFailure) {
    let size = try bytes.little32(start)
    let isCore = size == 12
    guard isCore || (40...124).contains(size) else {
      throw DecodeFailure(.unsupported, "a bitmap header of \(size) bytes")
    }
    width = isCore ? try bytes.little16(start + 4) : try bytes.signed32(start + 4)
    let height = isCore ? try bytes.little16(start + 6) : try bytes.signed32(start + 8)
    isTopDown = height < 0
    self.height = abs(height)
    depth = try bytes.little16(start + (isCore ? 10 : 14))
    let code = isCore ? 0 : try bytes.little32(start + 16)
    guard width > 0, height != 0, [1, 4, 8, 16, 24, 32].contains(depth), let compression = Compression(rawValue: code),
      Self.depths(of: compression).contains(depth)
    else { throw DecodeFailure(.unsupported, "a bitmap of \(depth) bits, compression \(code)") }
    self.compression = compression

    var next = start + size
    switch compression {
    case .masks, .masksWithAlpha:
      masks = try ChannelMasks(bytes, at: start + 40, withAlpha: size >= 56 || compression == .masksWithAlpha)
      if size == 40 { next += compression == .masks ? 12 : 16 }
    default: masks = depth == 16 ? .of16Bits : .of32Bits
    }
    let used = isCore ? 0 : try bytes.little32(start + 32)
    let most = depth <= 8 ? 1 << depth : 0
    let count = depth <= 8 ? (used == 0 ? most : min(used, most)) : min(used, 256)
    let step = isCore ? 3 : 4
    var palette: [[UInt8]] = []
    for entry in 0..<(depth <= 8 ? count : 0) {
      let place = next + entry * step
      palette.append([try bytes.at(place + 2), try bytes.at(place + 1), try bytes.at(place)])
    }
    self.palette = palette
    end = next + count * step
  }

  private static func depths(of compression: Compression) -> [Int] {
    switch compression {
    case .none: [1, 4, 8, 16, 24, 32]
    case .runs8: [8]
    case .runs4: [4]
    case .masks, .masksWithAlpha: [16, 32]
    }
  }
}

/// Which bits of a pixel belong to which channel: red, green, blue, alpha.
struct ChannelMasks {
  static let of16Bits = ChannelMasks([0x7C00, 0x03E0, 0x001F, 0])
  static let of32Bits = ChannelMasks([0xFF_0000, 0xFF00, 0xFF, 0])

  private let shifts: [Int]
  /// The largest value of each channel; 0 for a channel that is missing.
  private let largest: [Int]

  private init(_ masks: [Int]) {
    shifts = masks.map { $0 == 0 ? 0 : $0.trailingZeroBitCount }
    largest = masks.map { $0 == 0 ? 0 : $0 >> $0.trailingZeroBitCount }
  }

  init(_ bytes: Span<UInt8>, at start: Int, withAlpha: Bool) throws(DecodeFailure) {
    var masks: [Int] = []
    for channel in 0..<4 { masks.append(channel == 3 && !withAlpha ? 0 : try bytes.little32(start + 4 * channel)) }
    self.init(masks)
  }

  /// A channel of a pixel in 8 bits; without alpha, a pixel is opaque.
  func value(_ channel: Int, of pixel: Int) -> UInt8 {
    let most = largest[channel]
    guard most > 0 else { return channel == 3 ? 255 : 0 }
    return UInt8((pixel >> shifts[channel] & most) * 255 / most)
  }
}

enum BitmapPixels {
  /// Reads the pixels from `start` on as RGBA, opaque if the file has no alpha; `height` is without the mask of an
  /// icon. The fourth byte of plain 32-bit pixels is alpha only in icons, so only they keep it.
  static func read(_ file: Span<UInt8>, _ header: BitmapHeader, from start: Int, height: Int, keepsAlpha: Bool)
    throws(DecodeFailure) -> [UInt8]
  {
    let width = header.width
    let hasRuns = header.compression == .runs8 || header.compression == .runs4
    let indices = hasRuns ? try indices(file, header, from: start) : nil
    let row = (header.width * header.depth + 31) / 32 * 4
    guard indices != nil || row * height <= file.count - start else {
      throw DecodeFailure(.damaged, "the data end too early")
    }
    var bytes = [UInt8](repeating: 255, count: width * height * 4)
    for y in 0..<height {
      let line = header.isTopDown ? y : height - 1 - y
      for x in 0..<width {
        let target = (line * width + x) * 4
        let place = start + y * row
        switch header.depth {
        case 1, 4, 8:
          let index = indices.map { Int($0[y * width + x]) } ?? index(file, place, x, header.depth)
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
    return bytes
  }

  /// Reads run lengths: an index for each pixel, rows as in the file; pixels left out have the first colour.
  private static func indices(_ file: Span<UInt8>, _ header: BitmapHeader, from start: Int) throws(DecodeFailure)
    -> [UInt8]
  {
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

  private static func index(_ file: Span<UInt8>, _ row: Int, _ x: Int, _ depth: Int) -> Int {
    let bit = x * depth
    return Int(file[row + bit / 8]) >> (8 - depth - bit % 8) & (1 << depth - 1)
  }
}

/// Numbers of a bitmap; a place outside means that the data end too early.
extension Span<UInt8> {
  func at(_ place: Int) throws(DecodeFailure) -> UInt8 {
    guard place >= 0, place < count else { throw DecodeFailure(.damaged, "the data end too early") }
    return self[place]
  }

  func little16(_ place: Int) throws(DecodeFailure) -> Int { Int(try at(place)) | Int(try at(place + 1)) << 8 }

  func little32(_ place: Int) throws(DecodeFailure) -> Int { try little16(place) | (try little16(place + 2)) << 16 }

  func signed32(_ place: Int) throws(DecodeFailure) -> Int { Int(Int32(truncatingIfNeeded: try little32(place))) }
}
