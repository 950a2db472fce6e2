import CVips
package import ImgdDecode
import ImgdPicture
import ImgdSystem

/// Carries out orders. Nothing of one order remains for the next.
package enum DecodeWork {
  /// Carries out an order, and returns what became of it.
  package static func answer(_ order: DecodeOrder) -> DecodeAnswer {
    order.picture.withBytes { bytes in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        // Warnings of calls that succeeded are there as well.
        vips_error_clear()
        do throws(DecodeFailure) {
          let source = try unsafe Source(bytes, format: order.format, limits: order.limits)
          do throws(DecodeFailure) { return try make(source, order.rendition) } catch { throw source.explained(error) }
        } catch { return .failure(error) }
      }
    }
  }

  private static func make(_ source: Source, _ rendition: Rendition) throws(DecodeFailure) -> DecodeAnswer {
    switch rendition.output {
    case .pixels: .picture(try PixelsWork.make(source, rendition))
    case .file(let format, let quality): .picture(try FileWork.make(source, rendition, format, quality: quality))
    case .description: .description(try DescriptionWork.make(source))
    }
  }
}

/// The bytes of a picture, checked against the limits before any pixel is computed.
@safe struct Source {
  let picture: PictureMeasures
  let limits: DecodeLimits
  /// EXIF's orientation with which it is shown.
  private(set) var orientation: Int
  // Safe: lent for the duration of an order, as is everything made from it.
  private let bytes: UnsafeBufferPointer<UInt8>

  init(_ bytes: UnsafeBufferPointer<UInt8>, format: PictureFormat, limits: DecodeLimits) throws(DecodeFailure) {
    let picture: PictureMeasures
    do { picture = try unsafe PictureProbe.recognise(bytes.span) } catch { throw DecodeFailure(.damaged, error.reason) }
    guard picture.format == format else {
      throw DecodeFailure(.damaged, "\(picture.format.name), and not \(format.name)")
    }
    self.picture = picture
    self.limits = limits
    switch format {
    case .jpeg, .png, .webp, .tiff: orientation = picture.orientation
    // The loaders of the other formats turn the picture themselves.
    default: orientation = 1
    }
    unsafe self.bytes = unsafe bytes
    // A drawing may call itself as large as it likes: what counts is the size at which it is drawn.
    if !format.isDrawn { try check(width: picture.width, height: picture.height, frames: 1) }
  }

  var format: PictureFormat { picture.format }
  var start: UnsafePointer<UInt8>? { unsafe bytes.baseAddress }
  var count: Int { unsafe bytes.count }

  /// Checks what will be held at once, at some step of the work, against the limits.
  func check(width: Int, height: Int, frames: Int, _ step: String? = nil) throws(DecodeFailure) {
    let moving = frames > 1 ? " in \(frames) frames" : ""
    let size = "\(width)x\(height)\(moving)" + (step.map { " \($0)" } ?? "")
    guard width > 0, height > 0, frames > 0 else { throw DecodeFailure(.damaged, "a picture without pixels") }
    guard width <= limits.dimension, height <= limits.dimension else {
      throw DecodeFailure(.tooLarge, "\(size), at most \(limits.dimension) a side")
    }
    guard frames <= limits.frames else { throw DecodeFailure(.tooLarge, "\(frames) frames, at most \(limits.frames)") }
    let (area, isHuge) = width.multipliedReportingOverflow(by: height)
    let (pixels, isHuger) = area.multipliedReportingOverflow(by: frames)
    guard !isHuge, !isHuger, pixels <= limits.pixels else {
      throw DecodeFailure(.tooLarge, "\(size), at most \(limits.pixels) pixels")
    }
  }

  /// Sets the orientation as the daemon states it, since not every loader finds it.
  func orient(_ opened: VipsPicture) { opened.set("orientation", orientation) }

  /// The same picture, turned clockwise by so many degrees when it is upright.
  func turned(by degrees: Int) throws(DecodeFailure) -> Source {
    guard degrees != 0 else { return self }
    guard !format.isDrawn else { throw DecodeFailure(.unsupported, "a drawing cannot be turned") }
    var turned = self
    for _ in 0..<degrees / 90 { turned.orientation = Self.afterQuarterTurn[turned.orientation - 1] }
    return turned
  }

  /// The orientation that each has after a quarter turn, clockwise.
  private static let afterQuarterTurn = [6, 7, 8, 5, 2, 3, 4, 1]

  /// Opens a picture that is not drawn with its loader; nothing but its header has been read yet.
  func open(allFrames: Bool = false) throws(DecodeFailure) -> VipsPicture {
    guard let loader = format.loader else {
      let decoded = try unsafe Bitmap.decode(bytes.span, self)
      orient(decoded)
      return decoded
    }
    guard let image = unsafe cvips_load(loader.name, bytes.baseAddress, bytes.count, allFrames ? 1 : 0) else {
      throw VipsError.takeFailure(.damaged)
    }
    let opened = unsafe VipsPicture(owning: image)
    orient(opened)
    try check(width: opened.width, height: opened.frameHeight, frames: allFrames ? opened.frames : 1)
    return opened
  }

  /// The failure of a form with its true cause. Pixels are read when they are asked for, so that any step may fail
  /// because of the loader. The picture is damaged only if the loader fails without the other steps.
  func explained(_ failure: DecodeFailure) -> DecodeFailure {
    guard failure.cause == .unmade, !format.isDrawn else { return failure }
    do throws(DecodeFailure) {
      vips_error_clear()
      try open().readThrough()
      return failure
    } catch { return error }
  }
}
