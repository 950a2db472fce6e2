import ImgdDecode

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
