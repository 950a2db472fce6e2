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
