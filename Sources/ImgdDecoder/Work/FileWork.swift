import CVips
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

enum FileWork {
  static func make(_ source: Source, _ rendition: Rendition, _ format: PictureFormat?, quality: Int?)
    throws(DecodeFailure) -> MadePicture
  {
    let mayMove = rendition.frames == .all && source.format.isAnimatable && (format ?? source.format).isAnimatable
    let picture = try FittedPicture(source, in: rendition.box, allFrames: mayMove)
    let isKept = VipsLibrary.savers.contains(source.format)
    let target = format ?? (isKept ? source.format : picture.hasAlpha ? .png : .jpeg)
    guard VipsLibrary.savers.contains(target) else {
      throw DecodeFailure(.unsupported, "\(target.name) cannot be written")
    }
    let size = picture.size
    if let most = target.longestSide, max(size.width, size.height) > most {
      throw DecodeFailure(.tooLarge, "\(size.width)x\(size.height), and \(target.name) has at most \(most) a side")
    }
    let hasAlpha = target.hasAlpha
    let padded = try picture.padded(try picture.make().inScreenColours(), withAlpha: hasAlpha)
    let whole = hasAlpha ? padded : try padded.flat(on: picture.background(withAlpha: false))
    whole.dropMetadata()
    let height = target.isAnimatable ? whole.frameHeight : whole.height
    let content = try whole.encoded(as: target, quality: quality, within: rendition.mostBytes)
    return MadePicture(
      format: target, width: whole.width, height: height, frames: whole.height / height, content: content)
  }
}

extension VipsPicture {
  /// Removes everything that is noted besides the pixels, except how an animation plays: where and by whom a picture
  /// was taken is nobody's business, and its orientation and colours have been applied.
  fileprivate func dropMetadata() {
    guard let names = unsafe vips_image_get_fields(image) else { return }
    defer { unsafe g_strfreev(names) }
    var next = unsafe names
    while let name = unsafe next.pointee {
      if unsafe !Self.kept.contains(String(cString: name)) { _ = unsafe vips_image_remove(image, name) }
      unsafe next += 1
    }
  }

  private static let kept: Set = ["delay", "loop", "page-height", "n-pages"]

  /// Further encodings in search of one that fits: each halves the qualities that are left.
  private static let tries = 4
  private static let lowestQuality = 5

  /// The file in the highest quality found that fits into so many bytes, or in the lowest that was tried.
  fileprivate func encoded(as format: PictureFormat, quality: Int?, within most: Int?) throws(DecodeFailure) -> Payload
  {
    guard let most, let usual = format.usualQuality else { return try encoded(as: format, quality: quality) }
    let wanted = quality ?? usual
    // What comes from a file can be read once.
    let pixels = try computed()
    var last = try pixels.encoded(as: format, quality: wanted)
    guard last.count > most else { return last }
    var (low, high) = (min(Self.lowestQuality, wanted), wanted - 1)
    var fitting: Payload?
    for _ in 0..<Self.tries where low <= high {
      let middle = (low + high) / 2
      last = try pixels.encoded(as: format, quality: middle)
      if last.count <= most { (fitting, low) = (last, middle + 1) } else { high = middle - 1 }
    }
    return fitting ?? last
  }

  private func encoded(as format: PictureFormat, quality: Int?) throws(DecodeFailure) -> Payload {
    var bytes: UnsafeMutableRawPointer?
    var count = 0
    let failed = unsafe save(as: format, quality: CInt(quality ?? format.usualQuality ?? 0), &bytes, &count)
    guard failed == 0, let bytes = unsafe bytes, count > 0 else { throw VipsError.takeFailure() }
    defer { unsafe g_free(bytes) }
    let written = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
    guard format == .webp else { return try unsafe OutputMemory.copy(written) }
    return try OutputMemory.copy(WebPFile.withoutNotes(unsafe [UInt8](written)))
  }

  private func save(
    as format: PictureFormat, quality: CInt, _ bytes: inout UnsafeMutableRawPointer?, _ count: inout Int
  ) -> CInt {
    switch format {
    case .jpeg: unsafe cvips_save_jpeg(image, &bytes, &count, quality)
    case .png: unsafe cvips_save_png(image, &bytes, &count)
    case .webp: unsafe cvips_save_webp(image, &bytes, &count, quality)
    case .avif: unsafe cvips_save_avif(image, &bytes, &count, quality)
    case .gif: unsafe cvips_save_gif(image, &bytes, &count)
    case .tiff: unsafe cvips_save_tiff(image, &bytes, &count)
    case .jxl: unsafe cvips_save_jxl(image, &bytes, &count, quality)
    case .heic, .jp2, .bmp, .ico, .svg: -1
    }
  }
}

/// A WebP file as the library writes it: always with a chunk of notes that is larger than some icons.
enum WebPFile {
  private static let dropped = ["EXIF", "XMP "].map { Array($0.utf8) }
  /// The bits for such chunks in the flags of the extended header.
  private static let notes: UInt8 = 0b0000_1100

  /// The file without chunks that are not about pixels; unchanged if it is not built as expected.
  static func withoutNotes(_ file: [UInt8]) -> [UInt8] {
    guard file.count >= 12 else { return file }
    var kept = Array(file[..<12])
    var next = 12
    while next < file.count {
      guard file.count - next >= 8 else { return file }
      let size = (0..<4).reduce(0) { $0 | Int(file[next + 4 + $1]) << (8 * $1) }
      // Chunks begin at even places.
      let whole = 8 + size + size % 2
      guard whole <= file.count - next else { return file }
      let name = Array(file[next..<next + 4])
      if !dropped.contains(name) {
        let flags = kept.count + 8
        kept += file[next..<next + whole]
        if name == Array("VP8X".utf8), size > 0 { kept[flags] &= ~notes }
      }
      next += whole
    }
    for byte in 0..<4 { kept[4 + byte] = UInt8(truncatingIfNeeded: (kept.count - 8) >> (8 * byte)) }
    return kept
  }
}
