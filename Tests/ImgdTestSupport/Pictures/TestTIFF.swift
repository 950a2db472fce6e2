extension TestPicture {
  /// A grey TIFF without compression, in any of the four layouts.
  package static func tiff(
    width: Int, height: Int, bigEndian: Bool = false, isBig: Bool = false, pages: Int = 1,
    orientation: Int? = nil, seed: UInt64 = 0, padding: Int = 0
  ) -> [UInt8] {
    var noise = Noise(seed: seed)
    var tiff = TIFFWriter(bigEndian: bigEndian, isBig: isBig)
    for _ in 0..<pages {
      let strip = tiff.bytes.count
      tiff.bytes += noise.bytes(width * height)
      tiff.beginDirectory()
      var entries: [(Int, TIFFWriter.Kind, Int)] = [
        (256, .long, width), (257, .long, height), (258, .short, 8), (259, .short, 1),
        (262, .short, 1), (273, .long, strip), (277, .short, 1), (278, .long, height),
        (279, .long, width * height),
      ]
      if let orientation { entries.insert((274, .short, orientation), at: 6) }
      tiff.append(entries)
    }
    return tiff.bytes + noise.bytes(padding)
  }

  /// The small TIFF with an orientation that other formats contain.
  package static func exif(orientation: Int, bigEndian: Bool = true) -> [UInt8] {
    var tiff = TIFFWriter(bigEndian: bigEndian, isBig: false)
    tiff.beginDirectory()
    tiff.append([(274, .short, orientation)])
    return tiff.bytes
  }
}

/// Chains directories of entries in either byte order, with offsets of 32 or 64 bits.
struct TIFFWriter {
  enum Kind: Int {
    case short = 3
    case long = 4
  }

  var bytes: [UInt8]
  private let bigEndian: Bool
  private let isBig: Bool
  /// The place for the offset of the next directory.
  private var link: Int

  init(bigEndian: Bool, isBig: Bool) {
    self.bigEndian = bigEndian
    self.isBig = isBig
    bytes = Array((bigEndian ? "MM" : "II").utf8)
    link = isBig ? 8 : 4
    append(isBig ? 43 : 42, size: 2)
    if isBig { append(8, size: 2) }
    if isBig { append(0, size: 2) }
    append(0, size: isBig ? 8 : 4)
  }

  /// Writes the end of the bytes, made even, as an offset into the previous directory or the header.
  mutating func beginDirectory() {
    if bytes.count % 2 == 1 { bytes.append(0) }
    let place = encoded(bytes.count, size: isBig ? 8 : 4)
    bytes.replaceSubrange(link..<(link + place.count), with: place)
  }

  mutating func append(_ entries: [(tag: Int, kind: Kind, value: Int)]) {
    append(entries.count, size: isBig ? 8 : 2)
    for entry in entries {
      append(entry.tag, size: 2)
      append(entry.kind.rawValue, size: 2)
      append(1, size: isBig ? 8 : 4)
      let value = encoded(entry.value, size: entry.kind == .short ? 2 : 4)
      bytes += value + [UInt8](repeating: 0, count: (isBig ? 8 : 4) - value.count)
    }
    link = bytes.count
    append(0, size: isBig ? 8 : 4)
  }

  private mutating func append(_ number: Int, size: Int) {
    bytes += encoded(number, size: size)
  }

  private func encoded(_ number: Int, size: Int) -> [UInt8] {
    let little = (0..<size).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    return bigEndian ? little.reversed() : little
  }
}
