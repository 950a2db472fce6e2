import ImgdWire

/// The text of kitty's graphics protocol, by which a terminal shows pixels as they are.
enum KittyText {
  /// The longest piece that the protocol allows, a multiple of four letters.
  private static let longest = 4096

  static func bytes(of picture: borrowing DecodedPicture) -> [UInt8] {
    var letters: [UInt8] = []
    append(picture, to: &letters)
    var text: [UInt8] = []
    text.reserveCapacity(letters.count + letters.count / 256 + 64)
    var start = 0
    while start < letters.count {
      let end = min(start + longest, letters.count)
      let more = end < letters.count ? 1 : 0
      // RGBA of this size, to be shown at once, and no answer about it.
      let head = "a=T,f=32,s=\(picture.width),v=\(picture.height),q=2,"
      text += "\u{1b}_G\(start == 0 ? head : "")m=\(more);".utf8
      text += letters[start..<end]
      text += "\u{1b}\\".utf8
      start = end
    }
    return text
  }

  private static func append(_ picture: borrowing DecodedPicture, to letters: inout [UInt8]) {
    let (stride, row, height) = (picture.stride, picture.width * 4, picture.height)
    unsafe picture.withBytes { bytes in
      let bytes = unsafe Span(_unsafeElements: bytes)
      guard stride > row else { return letters.append(base64: bytes.extracting(first: row * height)) }
      // Rows with gaps between them are packed first: base64 goes on from row to row.
      var packed: [UInt8] = []
      packed.reserveCapacity(row * height)
      for start in Swift.stride(from: 0, to: stride * height, by: stride) {
        for index in start..<(start + row) { packed.append(bytes[index]) }
      }
      letters.append(base64: packed.span)
    }
  }
}
