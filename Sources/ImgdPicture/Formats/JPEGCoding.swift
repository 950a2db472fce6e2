/// How the pixels of a JPEG are coded, as far as that decides how long it takes to read them.
package struct JPEGCoding: Equatable, Sendable {
  package let isProgressive: Bool
  package let colours: Int

  package init(isProgressive: Bool, colours: Int) {
    self.isProgressive = isProgressive
    self.colours = colours
  }

  /// The usual coding, also assumed for bytes that are no JPEG.
  package static let baseline = JPEGCoding(isProgressive: false, colours: 3)

  /// Reads the coding from the frame header.
  package init(_ bytes: Span<UInt8>) {
    var walk = MarkerWalk()
    var coding = JPEGCoding.baseline
    while let marker = walk.next(in: bytes), !JPEG.isPastHeaders(marker) {
      if JPEG.isFrameHeader(marker) {
        coding = JPEGCoding(
          isProgressive: Self.progressive.contains(marker), colours: bytes.byte(at: walk.offset + 7) ?? 3)
        break
      }
      guard let length = bytes.big16(at: walk.offset), length >= 2 else { break }
      walk.offset += length
    }
    self = coding
  }

  /// With Huffman or arithmetic codes, alone or differential.
  private static let progressive = [0xC2, 0xC6, 0xCA, 0xCE]
}
