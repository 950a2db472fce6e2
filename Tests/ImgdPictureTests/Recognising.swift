import ImgdPicture

/// What the probe says about bytes, as one line that a table can hold.
func verdict(_ bytes: [UInt8]) -> String {
  do throws(NotAPicture) {
    let picture = try PictureProbe.recognise(bytes.span)
    let size = "\(picture.format.name) \(picture.width)x\(picture.height)"
    return size + " frames \(picture.frames) orientation \(picture.orientation)"
  } catch {
    return error.reason
  }
}

/// A line as `verdict` writes it, with what a plain picture has left out.
func line(
  _ format: PictureFormat, _ width: Int, _ height: Int, frames: Int = 1, orientation: Int = 1
) -> String {
  "\(format.name) \(width)x\(height) frames \(frames) orientation \(orientation)"
}
