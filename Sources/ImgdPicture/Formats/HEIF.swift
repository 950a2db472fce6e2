// AVIF and HEIC are the same container (HEIF) around different codecs; it is derived from MP4. A still
// is an item: `pitm` names the primary one, `iinf` its codec, and `ipma` assigns it properties in
// `ipco`: size, rotation and mirror; a grid of tiles is an item with a size of its own. A sequence is
// a track like that of a film. Many files have both, a cover and a sequence; the major brand says
// which of them the file is.

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
      format: format, width: width, height: height, frames: track?.frames ?? 1, orientation: item?.orientation.exif ?? 1
    )
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

  /// The reason for refusing a file without a picture's brand.
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

/// The primary item of a HEIF file: its codec and its properties.
struct HEIFItem {
  /// nil when the item is not a coded picture, but a grid, for example.
  let format: PictureFormat?
  private(set) var width: Int?
  private(set) var height: Int?
  private(set) var orientation = Orientation.upright

  /// nil when there is no primary item.
  init?(meta: Range<Int>, bytes: Span<UInt8>) {
    let boxes = meta.dropping(4)
    guard let primary = Self.primary(in: boxes, of: bytes) else { return nil }
    format = Self.format(of: primary, in: boxes, of: bytes)
    guard let properties = BoxWalk.first("iprp", in: boxes, of: bytes),
      let container = BoxWalk.first("ipco", in: properties, of: bytes)
    else { return }
    let all = Self.boxes(in: container, of: bytes)
    for index in ItemProperties.indices(of: primary, in: properties, of: bytes) where all.indices.contains(index - 1) {
      apply(all[index - 1], of: bytes)
    }
  }

  private static func boxes(in container: Range<Int>, of bytes: Span<UInt8>) -> [Box] {
    var boxes: [Box] = []
    boxes.reserveCapacity(16)
    var walk = BoxWalk(container)
    while let box = walk.next(in: bytes) { boxes.append(box) }
    return boxes
  }

  private mutating func apply(_ property: Box, of bytes: Span<UInt8>) {
    let start = property.body.lowerBound
    switch property.name {
    case "ispe":
      width = width ?? bytes.big32(at: start + 4)
      height = height ?? bytes.big32(at: start + 8)
    case "clap": crop(to: start, of: bytes)
    case "irot": orientation.rotate(quarters: bytes.byte(at: start) ?? 0)
    case "imir": orientation.mirror(leftToRight: bytes.byte(at: start).map { $0 & 1 == 1 } ?? false)
    default: break
    }
  }

  /// Encoders that need even sides pad the picture and state the visible part as two fractions.
  private mutating func crop(to place: Int, of bytes: Span<UInt8>) {
    width = Self.side(width, croppedBy: place, of: bytes)
    height = Self.side(height, croppedBy: place + 8, of: bytes)
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
      if let codec = codec(of: item, statedIn: entry.body, of: bytes) { return pictureFormat(of: codec) }
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

  private static func pictureFormat(of codec: FourCC) -> PictureFormat? {
    switch codec {
    case "av01": .avif
    case "hvc1", "hev1": .heic
    default: nil
    }
  }
}

/// The box that assigns properties to the items of a HEIF file, by number.
struct ItemProperties {
  private let isWideItem: Bool
  private let isWideIndex: Bool
  private var entriesLeft: Int
  private var offset: Int
  private let end: Int

  /// The numbers, from 1, of an item's properties in the order in which they are to be applied.
  static func indices(of item: Int, in properties: Range<Int>, of bytes: Span<UInt8>) -> [Int] {
    var walk = BoxWalk(properties)
    while let box = walk.next(in: bytes) {
      guard box.name == "ipma", var table = ItemProperties(box.body, of: bytes) else { continue }
      while let entry = table.next(in: bytes) {
        if entry.item == item { return table.indices(at: entry.properties, in: bytes) }
      }
    }
    return []
  }

  private init?(_ body: Range<Int>, of bytes: Span<UInt8>) {
    guard let versionAndFlags = bytes.big32(at: body.lowerBound), let count = bytes.big32(at: body.lowerBound + 4)
    else { return nil }
    isWideItem = versionAndFlags >> 24 > 0
    isWideIndex = versionAndFlags & 1 == 1
    entriesLeft = count
    offset = body.lowerBound + 8
    end = body.upperBound
  }

  /// The next item with the range of its properties. Every entry takes bytes, so the box ends even when
  /// its count is too large.
  private mutating func next(in bytes: Span<UInt8>) -> (item: Int, properties: Range<Int>)? {
    let itemSize = isWideItem ? 4 : 2
    guard entriesLeft > 0, offset + itemSize < end,
      let item = isWideItem ? bytes.big32(at: offset) : bytes.big16(at: offset),
      let count = bytes.byte(at: offset + itemSize)
    else { return nil }
    entriesLeft -= 1
    let start = offset + itemSize + 1
    offset = start + count * indexSize
    return (item, start..<offset)
  }

  /// The top bit of each index marks an essential property, and is ignored.
  private func indices(at place: Range<Int>, in bytes: Span<UInt8>) -> [Int] {
    var indices: [Int] = []
    for offset in stride(from: place.lowerBound, to: place.upperBound, by: indexSize) {
      let index = isWideIndex ? bytes.big16(at: offset) : bytes.byte(at: offset)
      guard let index else { break }
      indices.append(index & (isWideIndex ? 0x7FFF : 0x7F))
    }
    return indices
  }

  private var indexSize: Int { isWideIndex ? 2 : 1 }
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
    guard let media = BoxWalk.first("mdia", in: track, of: bytes), Self.showsPictures(media, of: bytes),
      let samples = BoxWalk.first(at: ["minf", "stbl"], in: media, of: bytes),
      let frames = Self.sampleCount(samples, of: bytes), let description = BoxWalk.first("stsd", in: samples, of: bytes)
    else { return nil }
    // The first sample entry: its header, then 24 bytes, then the sides.
    let entry = description.lowerBound + 8
    guard let width = bytes.big16(at: entry + 32), let height = bytes.big16(at: entry + 34) else { return nil }
    self.frames = max(frames, 1)
    self.width = width
    self.height = height
  }

  private static func showsPictures(_ media: Range<Int>, of bytes: Span<UInt8>) -> Bool {
    guard let handler = BoxWalk.first("hdlr", in: media, of: bytes) else { return false }
    let kind = bytes.fourCC(at: handler.lowerBound + 8)
    return kind == "pict" || kind == "vide"
  }

  /// The plain and the compact table of sizes have the sample count in the same place.
  private static func sampleCount(_ samples: Range<Int>, of bytes: Span<UInt8>) -> Int? {
    let sizes = BoxWalk.first("stsz", in: samples, of: bytes) ?? BoxWalk.first("stz2", in: samples, of: bytes)
    return sizes.flatMap { bytes.big32(at: $0.lowerBound + 8) }
  }
}
