internal import CRsvg
import CVips
import ImgdDecode
import ImgdPicture

/// A part of a drawing in its own pixels, of which it may begin and end within one.
struct DrawnPart: Equatable {
  let left: Double
  let top: Double
  let width: Double
  let height: Double

  init(_ part: CutPart) {
    (left, top) = (Double(part.corner.left), Double(part.corner.top))
    (width, height) = (Double(part.size.width), Double(part.size.height))
  }

  /// What of another part is seen of a size that it covers, as near to a point in fractions of its sides as can be.
  init(of whole: DrawnPart, covering size: Size, around point: (x: Double, y: Double)) {
    let factor = max(Double(size.width) / whole.width, Double(size.height) / whole.height)
    width = min(whole.width, Double(size.width) / factor)
    height = min(whole.height, Double(size.height) / factor)
    left = whole.left + min(max(0, point.x * whole.width - width / 2), whole.width - width)
    top = whole.top + min(max(0, point.y * whole.height - height / 2), whole.height - height)
  }
}

extension Source {
  /// The longest side that the library draws.
  private static let longestDrawn = 32_767
  /// The longest side of the sketch in which the part is looked for that draws the eye.
  private static let sketch = 256

  /// Draws a part of the drawing in as many pixels as are wanted, which nobody has to scale: its edges are sharp. Where
  /// the proportions differ, it is stretched.
  func draw(_ part: DrawnPart, as size: Size) throws(DecodeFailure) -> VipsPicture {
    try check(width: size.width, height: size.height, frames: 1)
    guard max(size.width, size.height) <= Self.longestDrawn else {
      throw DecodeFailure(
        .tooLarge, "\(size.width)x\(size.height), and a drawing has at most \(Self.longestDrawn) a side")
    }
    let drawn = try VipsPicture(blank: size)
    var failure: DecodeFailure?
    unsafe drawn.withPixels { pixels in
      unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 200) { room in
        guard let reason = room.baseAddress else { return }
        let result = unsafe crsvg_draw(
          start, count,
          crsvg_part(
            width: Double(picture.width), height: Double(picture.height), left: part.left, top: part.top,
            part_width: part.width, part_height: part.height), pixels, CInt(size.width), CInt(size.height), reason)
        guard result != CRSVG_DRAWN else { return }
        // Whatever the library gives up on, it gives up on at any size, unless memory is short.
        failure = unsafe DecodeFailure(
          result == CRSVG_NO_MEMORY ? .unmade : .damaged, String(cString: reason))
      }
    }
    if let failure { throw failure }
    return drawn
  }

  /// What is seen of a part where it covers a size.
  func seen(of whole: DrawnPart, covering size: Size, _ crop: Rendition.Box.Crop) throws(DecodeFailure) -> DrawnPart {
    switch crop {
    case .centre: return DrawnPart(of: whole, covering: size, around: (0.5, 0.5))
    case .point(let x, let y): return DrawnPart(of: whole, covering: size, around: (Double(x) / 1e6, Double(y) / 1e6))
    case .attention:
      let seen = DrawnPart(of: whole, covering: size, around: (0, 0))
      let factor = Double(Self.sketch) / max(whole.width, whole.height)
      func scaled(_ width: Double, _ height: Double) -> Size {
        Size(width: Int((width * factor).rounded()), height: Int((height * factor).rounded()))
      }
      let sketch = scaled(whole.width, whole.height)
      let window = scaled(seen.width, seen.height)
      let corner = try draw(whole, as: sketch).attentive(window)
      let middle = (
        x: (Double(corner.left) + Double(window.width) / 2) / Double(sketch.width),
        y: (Double(corner.top) + Double(window.height) / 2) / Double(sketch.height)
      )
      return DrawnPart(of: whole, covering: size, around: middle)
    }
  }
}

extension VipsPicture {
  /// A picture in which nothing can be seen yet.
  fileprivate convenience init(blank size: Size) throws(DecodeFailure) {
    guard let image = unsafe cvips_blank(CInt(size.width), CInt(size.height)) else { throw VipsError.takeFailure() }
    unsafe self.init(owning: image)
  }

  fileprivate func withPixels(_ change: (UnsafeMutablePointer<UInt8>?) -> Void) {
    unsafe change(cvips_pixels(image))
  }
}
