// AVIF and HEIC are the same container (HEIF) around different codecs; it is derived from MP4. A still is an item:
// `pitm` names the primary one, `iinf` its codec, and `ipma` assigns it properties in `ipco`: size, rotation and
// mirror; a grid of tiles is an item with a size of its own. A sequence is a track like that of a film. Many files
// have both, a cover and a sequence; the major brand says which of them the file is.

/// AVIF and HEIC pictures and sequences; films in the same container are refused.
enum HEIF {
  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    let brands = Brands(bytes)
    guard brands.isPicture else { throw NotAPicture(reason: brands.refusal) }
    let top = 0..<bytes.count
    let item = BoxWalk.first("meta", in: top, of: bytes).flatMap { HEIFItem(meta: $0, bytes: bytes) }
    let track = brands.isSequence ? HEIFTrack(file: top, bytes: bytes) : nil
    guard let width = item?.width ?? track?.width, let height = item?.height ?? track?.height else {
      throw NotAPicture(reason: "HEIF that states no size for its primary item")
    }
    guard let format = item?.format ?? brands.format else {
      throw NotAPicture(reason: "HEIF coded as neither AV1 nor HEVC")
    }
    return PictureMeasures(
      format: format, width: width, height: height, frames: track?.frames ?? 1,
      orientation: item?.orientation.exif ?? 1, isOpaque: track == nil && item?.hasAlpha == false)
  }
}

/// The brands of an ISO file: one major brand, and others that it is compatible with.
struct Brands {
  /// The most brands that are looked at; files have up to a dozen.
  private static let mostBrands = 64

  private let major: FourCC
  /// The format of the first brand that implies one; nil when only the items show it.
  let format: PictureFormat?
  /// Whether any brand is one for pictures.
  let isPicture: Bool

  init(_ bytes: Span<UInt8>) {
    let body = BoxWalk.first("ftyp", in: 0..<bytes.count, of: bytes) ?? 0..<0
    major = bytes.fourCC(at: body.lowerBound) ?? FourCC(code: 0)
    var format = Self.format(of: major)
    var isPicture = format != nil || Self.isNeutral(major)
    let others = body.dropping(8).prefix(Self.mostBrands * 4)
    for place in stride(from: others.startIndex, to: others.endIndex, by: 4) {
      guard let brand = bytes.fourCC(at: place) else { break }
      format = format ?? Self.format(of: brand)
      isPicture = isPicture || format != nil || Self.isNeutral(brand)
    }
    self.format = format
    self.isPicture = isPicture
  }

  /// Whether the file is a sequence, whose track has more frames than the cover.
  var isSequence: Bool { major == "avis" || major == "msf1" || major == "hevc" || major == "hevx" }

  var refusal: String {
    switch major {
    case "qt  ": "a QuickTime video"
    case "M4A ": "an MPEG-4 audio file"
    default: "an MP4 video (brand '\(major.text)')"
    }
  }

  private static func format(of brand: FourCC) -> PictureFormat? {
    switch brand {
    case "avif", "avis": .avif
    case "heic", "heix", "heim", "heis", "hevc", "hevx": .heic
    default: nil
    }
  }

  /// Brands of HEIF itself, independent of the codec.
  private static func isNeutral(_ brand: FourCC) -> Bool { brand == "mif1" || brand == "msf1" }
}

struct HEIFItem {
  /// nil when the item is not a coded picture, but a grid, for example.
  let format: PictureFormat?
  private(set) var width: Int?
  private(set) var height: Int?
  private(set) var orientation = Orientation.upright
  /// Whether any item is the alpha of another.
  private(set) var hasAlpha = false

  init?(meta: Range<Int>, bytes: Span<UInt8>) {
    let boxes = meta.dropping(4)
    guard let primary = Self.primary(in: boxes, of: bytes) else { return nil }
    format = Self.format(of: primary, in: boxes, of: bytes)
    guard let properties = BoxWalk.first("iprp", in: boxes, of: bytes),
      let container = BoxWalk.first("ipco", in: properties, of: bytes)
    else { return }
    var all: [Box] = []
    all.reserveCapacity(16)
    var walk = BoxWalk(container)
    while let box = walk.next(in: bytes) { all.append(box) }
    hasAlpha = all.contains { $0.name == "auxC" && Self.isAlpha($0, of: bytes) }
    for index in Self.indices(of: primary, in: properties, of: bytes) where all.indices.contains(index - 1) {
      apply(all[index - 1], of: bytes)
    }
  }

  private mutating func apply(_ property: Box, of bytes: Span<UInt8>) {
    let start = property.body.lowerBound
    switch property.name {
    case "ispe":
      width = width ?? bytes.big32(at: start + 4)
      height = height ?? bytes.big32(at: start + 8)
    // Encoders that need even sides pad the picture and state the visible part as two fractions.
    case "clap":
      width = Self.side(width, croppedBy: start, of: bytes)
      height = Self.side(height, croppedBy: start + 8, of: bytes)
    case "irot": orientation.rotate(quarters: bytes.byte(at: start) ?? 0)
    case "imir": orientation.mirror(leftToRight: bytes.byte(at: start).map { $0 & 1 == 1 } ?? false)
    default: break
    }
  }

  /// Whether an auxiliary item is alpha, by the end of its type, and not depth, for example.
  private static func isAlpha(_ property: Box, of bytes: Span<UInt8>) -> Bool {
    let type = property.body.dropping(4).prefix(64).prefix { bytes.byte(at: $0) != 0 }
    let name = String(decoding: type.compactMap { bytes.byte(at: $0).map { UInt8($0) } }, as: UTF8.self)
    return name.hasSuffix(":alpha") || name.hasSuffix(":auxid:1")
  }

  private static func side(_ side: Int?, croppedBy fraction: Int, of bytes: Span<UInt8>) -> Int? {
    guard let side, let dividend = bytes.big32(at: fraction), let divisor = bytes.big32(at: fraction + 4), divisor > 0
    else { return side }
    return min(side, dividend / divisor)
  }

  private static func primary(in boxes: Range<Int>, of bytes: Span<UInt8>) -> Int? {
    guard let body = BoxWalk.first("pitm", in: boxes, of: bytes), let version = bytes.byte(at: body.lowerBound) else {
      return nil
    }
    let place = body.lowerBound + 4
    return version == 0 ? bytes.big16(at: place) : bytes.big32(at: place)
  }

  private static func format(of item: Int, in boxes: Range<Int>, of bytes: Span<UInt8>) -> PictureFormat? {
    guard let body = BoxWalk.first("iinf", in: boxes, of: bytes), let version = bytes.byte(at: body.lowerBound) else {
      return nil
    }
    var walk = BoxWalk(body.dropping(version == 0 ? 6 : 8))
    while let entry = walk.next(in: bytes) {
      switch codec(of: item, statedIn: entry.body, of: bytes) {
      case nil: continue
      case "av01"?: return .avif
      case "hvc1"?, "hev1"?: return .heic
      default: return nil
      }
    }
    return nil
  }

  /// An entry has a wide or narrow number, two bytes about protection, then the codec.
  private static func codec(of item: Int, statedIn entry: Range<Int>, of bytes: Span<UInt8>) -> FourCC? {
    let place = entry.lowerBound + 4
    let isWide = bytes.byte(at: entry.lowerBound) == 3
    let number = isWide ? bytes.big32(at: place) : bytes.big16(at: place)
    return number == item ? bytes.fourCC(at: place + (isWide ? 6 : 4)) : nil
  }

  /// The numbers, from 1, of an item's properties in the order in which they are to be applied.
  private static func indices(of item: Int, in properties: Range<Int>, of bytes: Span<UInt8>) -> [Int] {
    var walk = BoxWalk(properties)
    while let box = walk.next(in: bytes) {
      let start = box.body.lowerBound
      guard box.name == "ipma", let versionAndFlags = bytes.big32(at: start), let count = bytes.big32(at: start + 4)
      else { continue }
      let isWideItem = versionAndFlags >> 24 > 0
      let isWideIndex = versionAndFlags & 1 == 1
      var offset = start + 8
      // Every entry takes bytes, so the box ends even when its count is too large.
      for _ in 0..<count {
        let itemSize = isWideItem ? 4 : 2
        guard offset + itemSize < box.body.upperBound,
          let number = isWideItem ? bytes.big32(at: offset) : bytes.big16(at: offset),
          let count = bytes.byte(at: offset + itemSize)
        else { break }
        let first = offset + itemSize + 1
        offset = first + count * (isWideIndex ? 2 : 1)
        guard number == item else { continue }
        // The top bit of each index marks an essential property, and is ignored.
        return stride(from: first, to: offset, by: isWideIndex ? 2 : 1).compactMap { place in
          isWideIndex ? bytes.big16(at: place).map { $0 & 0x7FFF } : bytes.byte(at: place).map { $0 & 0x7F }
        }
      }
    }
    return []
  }
}

/// The first track of pictures in a sequence: the stored size and the number of its samples.
struct HEIFTrack {
  let frames: Int
  let width: Int
  let height: Int

  /// nil when no track has pictures; tracks of alpha or sound are skipped.
  init?(file: Range<Int>, bytes: Span<UInt8>) {
    guard let movie = BoxWalk.first("moov", in: file, of: bytes) else { return nil }
    var walk = BoxWalk(movie)
    while let box = walk.next(in: bytes) {
      guard box.name == "trak", let track = HEIFTrack(track: box.body, bytes: bytes) else { continue }
      self = track
      return
    }
    return nil
  }

  private init?(track: Range<Int>, bytes: Span<UInt8>) {
    guard let media = BoxWalk.first("mdia", in: track, of: bytes),
      let handler = BoxWalk.first("hdlr", in: media, of: bytes),
      let kind = bytes.fourCC(at: handler.lowerBound + 8), kind == "pict" || kind == "vide",
      let samples = BoxWalk.first(at: ["minf", "stbl"], in: media, of: bytes),
      // The plain and the compact table of sizes have the sample count in the same place.
      let sizes = BoxWalk.first("stsz", in: samples, of: bytes) ?? BoxWalk.first("stz2", in: samples, of: bytes),
      let frames = bytes.big32(at: sizes.lowerBound + 8),
      let description = BoxWalk.first("stsd", in: samples, of: bytes)
    else { return nil }
    // The first sample entry: its header, then 24 bytes, then the sides.
    let entry = description.lowerBound + 8
    guard let width = bytes.big16(at: entry + 32), let height = bytes.big16(at: entry + 34) else { return nil }
    self.frames = max(frames, 1)
    self.width = width
    self.height = height
  }
}
