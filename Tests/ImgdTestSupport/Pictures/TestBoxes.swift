extension TestPicture {
  /// A property that changes the picture of a HEIF item.
  package enum Property: Sendable, Equatable {
    /// Anticlockwise quarter turns.
    case rotate(Int)
    /// 0 flips vertically, 1 horizontally.
    case mirror(Int)
    /// The size of the visible part in the middle.
    case crop(Int, Int)
  }

  /// The structure of an AVIF with one item, and a track if there are frames.
  package static func avif(
    width: Int, height: Int, changes: [Property] = [], frames: Int = 0, brand: String? = nil
  ) -> [UInt8] {
    heif(
      brands: [brand ?? (frames > 0 ? "avis" : "avif"), "mif1", "avif"], codec: "av01",
      width: width, height: height, changes: changes, frames: frames)
  }

  /// The structure of a HEIC with one item, and a track if there are frames.
  package static func heic(
    width: Int, height: Int, changes: [Property] = [], frames: Int = 0, brand: String? = nil
  ) -> [UInt8] {
    heif(
      brands: [brand ?? (frames > 0 ? "hevc" : "heic"), "mif1", "heic"], codec: "hvc1",
      width: width, height: height, changes: changes, frames: frames)
  }

  /// Item 2 is the primary one; the first property and item 1 belong to a thumbnail.
  package static func heif(
    brands: [String], codec: String, width: Int, height: Int, changes: [Property] = [],
    frames: Int = 0
  ) -> [UInt8] {
    let sizes = [sizeProperty(16, 16), sizeProperty(width, height)]
    let properties = (sizes + changes.map(property)).joined()
    let indices = (0..<(changes.count + 1)).map { UInt8($0 + 2) | 0x80 }
    let ties: [UInt8] = [0, 0, 0, 2, 0, 1, 1, 1, 0, 2, UInt8(indices.count)] + indices
    let meta =
      fullBox("hdlr", [0, 0, 0, 0] + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
      + fullBox("pitm", [0, 2])
      + fullBox("iinf", [0, 2] + itemEntry(1, "hvc1") + itemEntry(2, codec))
      + box("iprp", box("ipco", Array(properties)) + fullBox("ipma", ties))
    let track = frames > 0 ? movie(frames: frames, width: width, height: height) : []
    return fileType(brands) + fullBox("meta", meta) + track + box("mdat", [1, 2, 3, 4])
  }

  /// A box with its length.
  package static func box(_ name: String, _ body: [UInt8]) -> [UInt8] {
    big32(body.count + 8) + Array(name.utf8) + body
  }

  /// A box with version and flags.
  package static func fullBox(_ name: String, version: UInt8 = 0, _ body: [UInt8]) -> [UInt8] {
    box(name, [version, 0, 0, 0] + body)
  }

  /// The box at the start, the major brand first.
  package static func fileType(_ brands: [String]) -> [UInt8] {
    let others = brands.dropFirst().flatMap { Array($0.utf8) }
    return box("ftyp", Array((brands.first ?? "    ").utf8) + [0, 0, 0, 0] + others)
  }

  private static func sizeProperty(_ width: Int, _ height: Int) -> [UInt8] {
    fullBox("ispe", big32(width) + big32(height))
  }

  private static func property(_ change: Property) -> [UInt8] {
    switch change {
    case .rotate(let quarters): box("irot", [UInt8(quarters)])
    case .mirror(let axis): box("imir", [UInt8(axis)])
    case .crop(let width, let height):
      box("clap", [width * 2, 2, height, 1, 0, 1, 0, 1].flatMap(big32))
    }
  }

  private static func itemEntry(_ number: UInt8, _ codec: String) -> [UInt8] {
    fullBox("infe", version: 2, [0, number, 0, 0] + Array(codec.utf8) + [0])
  }

  /// A track of alpha before the one of pictures.
  private static func movie(frames: Int, width: Int, height: Int) -> [UInt8] {
    box(
      "moov",
      fullBox("mvhd", [])
        + mediaTrack("auxv", samples: frames + 7, width: width, height: height)
        + mediaTrack("pict", samples: frames, width: width, height: height))
  }

  private static func mediaTrack(
    _ handler: String, samples: Int, width: Int, height: Int
  ) -> [UInt8] {
    var entry = [UInt8](repeating: 0, count: 24)
    entry.appendBig16(width)
    entry.appendBig16(height)
    let table =
      fullBox("stsd", big32(1) + box("av01", entry))
      + fullBox("stsz", big32(100) + big32(samples))
    let kind = fullBox("hdlr", [0, 0, 0, 0] + Array(handler.utf8))
    return box("trak", box("mdia", kind + box("minf", box("stbl", table))))
  }
}
