import CChafa

/// The text that libchafa makes of pictures; the library is open.
enum ChafaText {
  static func halfBlocks(of picture: borrowing DecodedPicture, in cells: CellSize, _ colours: imgctl_colours) -> [UInt8]
  {
    unsafe text(of: picture) { picture in
      unsafe imgctl_half_blocks(picture, CInt(cells.columns), CInt(cells.rows), colours)
    }
  }

  static func sixels(of picture: borrowing DecodedPicture) -> [UInt8] {
    unsafe text(of: picture) { unsafe imgctl_sixels($0) }
  }

  private static func text(of picture: borrowing DecodedPicture, _ draw: (imgctl_picture) -> imgctl_text) -> [UInt8] {
    unsafe picture.withBytes { bytes in
      let lent = unsafe imgctl_picture(
        pixels: bytes.baseAddress, width: CInt(picture.width), height: CInt(picture.height),
        stride: CInt(picture.stride))
      let text = unsafe draw(lent)
      defer { unsafe imgctl_free_text(text) }
      let letters = unsafe UnsafeRawBufferPointer(start: text.bytes, count: text.count)
      return unsafe Array(letters)
    }
  }
}
