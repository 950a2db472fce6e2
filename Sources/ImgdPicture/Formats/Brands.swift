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
