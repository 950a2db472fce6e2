import CVips
import ImgdPicture

/// Pictures that are decoded before the process shuts itself off: libraries then have what they load or read at
/// their first picture. A format is reported as readable only if its picture was decoded.
enum FirstPictures {
  /// Decodes a picture of each format in this thread, and returns the formats that succeeded.
  static func decode() -> Set<PictureFormat> {
    var formats: Set<PictureFormat> = [.bmp, .ico]
    for (format, digits) in FirstPictureBytes.all where isDecoded(bytes(digits), format) { formats.insert(format) }
    vips_error_clear()
    return formats
  }

  private static func isDecoded(_ bytes: [UInt8], _ format: PictureFormat) -> Bool {
    guard let loader = format.loader else { return false }
    return unsafe bytes.withUnsafeBytes { bytes in
      guard let image = unsafe cvips_load(loader.name, bytes.baseAddress, bytes.count, 0) else { return false }
      defer { unsafe g_object_unref(image) }
      // A whole image would be computed by a thread of the library, which stays for a while and would be outside
      // the sandbox; a part is computed by this thread. WebP is an exception: its header has to be enough.
      guard format != .webp else { return true }
      guard let region = unsafe vips_region_new(image) else { return false }
      defer { unsafe g_object_unref(region) }
      var area = VipsRect(left: 0, top: 0, width: 8, height: 8)
      return unsafe vips_region_prepare(region, &area) == 0
    }
  }

  private static func bytes(_ digits: String) -> [UInt8] {
    let values = digits.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    return stride(from: 0, to: values.count - 1, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
  }
}
