extension TestPicture {
  /// How a PNG stores its pixels.
  package enum PNGKind: Sendable, CaseIterable {
    case grey, greyAlpha, colour, colourAlpha, deepColour, deepColourAlpha, palette

    /// The depth and the type of colour, as the header has them.
    fileprivate var header: [UInt8] {
      switch self {
      case .grey: [8, 0]
      case .greyAlpha: [8, 4]
      case .colour: [8, 2]
      case .colourAlpha: [8, 6]
      case .deepColour: [16, 2]
      case .deepColourAlpha: [16, 6]
      case .palette: [8, 3]
      }
    }

    package var hasAlpha: Bool {
      [.greyAlpha, .colourAlpha, .deepColourAlpha, .palette].contains(self)
    }

    package var isGrey: Bool { self == .grey || self == .greyAlpha }

    /// One pixel. Sixteen bits repeat the eight, which is the same brightness.
    fileprivate func stored(_ pixel: [UInt8], _ palette: [[UInt8]]) -> [UInt8] {
      switch self {
      case .grey: [pixel[0]]
      case .greyAlpha: [pixel[0], pixel[3]]
      case .colour: Array(pixel[..<3])
      case .colourAlpha: pixel
      case .deepColour: pixel[..<3].flatMap { [$0, $0] }
      case .deepColourAlpha: pixel.flatMap { [$0, $0] }
      case .palette: [UInt8(palette.firstIndex(of: pixel) ?? 0)]
      }
    }
  }

  /// A PNG of these pixels, with further chunks before them. A palette has room for 256 colours.
  package static func png(
    _ pixels: TestPixels, as kind: PNGKind = .colourAlpha, chunks: [UInt8] = []
  ) -> [UInt8] {
    let header = big32(pixels.width) + big32(pixels.height) + kind.header + [0, 0, 0]
    let palette = kind == .palette ? colours(of: pixels) : []
    var rows: [UInt8] = []
    for y in 0..<pixels.height {
      rows.append(0)
      for x in 0..<pixels.width { rows += kind.stored(pixels[x, y], palette) }
    }
    var png = pngSignature + pngChunk("IHDR", header) + chunks
    if kind == .palette {
      png += pngChunk("PLTE", palette.flatMap { $0[..<3] })
      png += pngChunk("tRNS", palette.map { $0[3] })
    }
    return png + pngChunk("IDAT", zlib(rows)) + pngChunk("IEND", [])
  }

  /// A chunk with a profile of colours.
  package static func pngProfile(_ profile: [UInt8]) -> [UInt8] {
    pngChunk("iCCP", Array("profile".utf8) + [0, 0] + zlib(profile))
  }

  private static func colours(of pixels: TestPixels) -> [[UInt8]] {
    var colours: [[UInt8]] = []
    for y in 0..<pixels.height {
      for x in 0..<pixels.width where !colours.contains(pixels[x, y]) {
        colours.append(pixels[x, y])
      }
    }
    precondition(colours.count <= 256, "a palette has 256 colours")
    return colours
  }
}
