internal import CVips
import Glibc
import ImgdDecode

/// An image of libvips: pixels that are computed when they are asked for. It reads the bytes that it was made from as
/// long as it lives, and so must not outlive them. The pointer is only given to the library in methods: outside of
/// them, the object may be gone as soon as the pointer has been read.
@safe final class VipsPicture {
  // Safe: the one reference that this object owns.
  let image: UnsafeMutablePointer<VipsImage>

  init(owning image: UnsafeMutablePointer<VipsImage>) { unsafe self.image = image }

  /// The result of a call of the library; its error if there is none.
  init(_ image: UnsafeMutablePointer<VipsImage>?) throws(DecodeFailure) {
    guard let image = unsafe image else { throw VipsError.takeFailure() }
    unsafe self.image = image
  }

  convenience init(copying pixels: [UInt8], width: Int, height: Int) throws(DecodeFailure) {
    let image = unsafe pixels.withUnsafeBytes {
      unsafe vips_image_new_from_memory_copy($0.baseAddress, $0.count, CInt(width), CInt(height), 4, VIPS_FORMAT_UCHAR)
    }
    guard let image = unsafe image else { throw VipsError.takeFailure() }
    unsafe image.pointee.Type = VIPS_INTERPRETATION_sRGB
    unsafe self.init(owning: image)
  }

  deinit { unsafe g_object_unref(image) }

  var width: Int { unsafe Int(vips_image_get_width(image)) }
  /// The height of all frames together, which are one below the other.
  var height: Int { unsafe Int(vips_image_get_height(image)) }
  var bands: Int { unsafe Int(vips_image_get_bands(image)) }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(image) != 0 }
  var frameHeight: Int { unsafe Int(vips_image_get_page_height(image)) }
  var orientation: Int { unsafe Int(vips_image_get_orientation(image)) }

  /// How long each frame is shown, in milliseconds; a tenth of a second where the file does not say.
  var delays: [Int] {
    var start: UnsafeMutablePointer<CInt>?
    var count: CInt = 0
    let frames = max(1, height / max(1, frameHeight))
    let known: [Int]
    if unsafe vips_image_get_typeof(image, "delay") != 0,
      unsafe vips_image_get_array_int(image, "delay", &start, &count) == 0
    {
      known = unsafe UnsafeBufferPointer(start: start, count: Int(count)).map { max(0, Int($0)) }
    } else {
      known = []
    }
    return (0..<frames).map { $0 < known.count ? known[$0] : 100 }
  }

  func set(_ name: String, _ value: Int) { unsafe vips_image_set_int(image, name, CInt(clamping: value)) }

  /// Computes all pixels once and keeps them.
  func computed() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(vips_image_copy_memory(image)) }

  /// Computes all pixels once, and keeps none.
  func readThrough() throws(DecodeFailure) {
    guard unsafe cvips_read(image) == 0 else { throw VipsError.takeFailure(.damaged) }
  }
}

/// Colours as a screen without colour management shows them.
extension VipsPicture {
  /// sRGB of 8 bits, with alpha if there was any.
  func inScreenColours() throws(DecodeFailure) -> VipsPicture {
    let byProfile = try convertedByProfile()
    let bytes = try (byProfile ?? self).converted().inBytes()
    return bytes.bands > 4 ? try bytes.withFirstBands(4) : bytes
  }

  func inRGBA() throws(DecodeFailure) -> VipsPicture {
    let coloured = try inScreenColours()
    let whole = coloured.bands == 3 ? try coloured.opaque() : coloured
    guard whole.bands == 4 else { throw DecodeFailure(.unsupported, "a picture of \(bands) channels") }
    return whole
  }

  private func withFirstBands(_ count: CInt) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(cvips_first_bands(image, count))
  }

  func opaque() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(cvips_opaque(image)) }

  /// The picture on a colour, as a page shows it: a format without alpha would show what alpha hides.
  func flat(on colour: Rendition.Colour) throws(DecodeFailure) -> VipsPicture {
    guard hasAlpha else { return self }
    return try unsafe VipsPicture(cvips_flat(image, CInt(colour.red), CInt(colour.green), CInt(colour.blue)))
  }

  /// Nil without a profile of other colours than those of a screen, or with one that does not fit the picture. Without
  /// one there is nothing to convert: a detour through a profile would only change the colours a little.
  private func convertedByProfile() throws(DecodeFailure) -> VipsPicture? {
    guard let profile, !ColourProfile.isScreen(profile) else { return nil }
    guard let converted = unsafe cvips_srgb_by_profile(image) else {
      vips_error_clear()
      return nil
    }
    return unsafe VipsPicture(owning: converted)
  }

  private func converted() throws(DecodeFailure) -> VipsPicture {
    guard unsafe vips_image_guess_interpretation(image) != VIPS_INTERPRETATION_sRGB else { return self }
    return try unsafe VipsPicture(cvips_srgb(image))
  }

  private func inBytes() throws(DecodeFailure) -> VipsPicture {
    guard unsafe vips_image_get_format(image) != VIPS_FORMAT_UCHAR else { return self }
    return try unsafe VipsPicture(cvips_bytes(image))
  }

  private var profile: [UInt8]? {
    guard unsafe vips_image_get_typeof(image, VIPS_META_ICC_NAME) != 0 else { return nil }
    var start: UnsafeRawPointer?
    var count = 0
    guard unsafe vips_image_get_blob(image, VIPS_META_ICC_NAME, &start, &count) == 0 else { return nil }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}

enum ColourProfile {
  /// Whether the profile's name says that the colours are those of a screen: then there is nothing to convert, which
  /// would take longer than decoding the picture.
  static func isScreen(_ profile: [UInt8]) -> Bool {
    guard word(profile, 16) == 0x5247_4220,  // "RGB "
      let count = word(profile, 128), count <= 100,
      let entry = (0..<count).map({ 132 + 12 * $0 }).first(where: {
        word(profile, $0) == 0x6465_7363  // "desc"
      }), let start = word(profile, entry + 4)
    else { return false }
    switch word(profile, start) {
    case 0x6465_7363: return names.contains { holds(profile, Array($0.utf8), at: start + 12) }
    case 0x6D6C_7563:  // "mluc": the first of the translations, in letters of two bytes
      guard let offset = word(profile, start + 24) else { return false }
      return names.contains { name in holds(profile, name.utf8.flatMap { [0, $0] }, at: start + offset) }
    default: return false
    }
  }

  /// The beginnings of such names; all but the first are what libjxl calls sRGB.
  private static let names = ["sRGB", "RGB_D65_SRG_Rel_SRG", "RGB_D65_SRG_Per_SRG"]

  private static func holds(_ bytes: [UInt8], _ text: [UInt8], at start: Int) -> Bool {
    start <= bytes.count && bytes[start...].starts(with: text)
  }

  private static func word(_ bytes: [UInt8], _ start: Int) -> Int? {
    guard start <= bytes.count - 4 else { return nil }
    return (0..<4).reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
  }
}
