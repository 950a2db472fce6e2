internal import CVips
import ImgdDecode

/// Colours as a screen without colour management shows them.
extension VipsPicture {
  /// sRGB of 8 bits, with alpha if there was any.
  func inScreenColours() throws(DecodeFailure) -> VipsPicture {
    let byProfile = try convertedByProfile()
    let bytes = try (byProfile ?? self).converted().inBytes()
    return bytes.bands > 4 ? try bytes.withFirstBands(4) : bytes
  }

  /// sRGB with alpha, 8 bits each.
  func inRGBA() throws(DecodeFailure) -> VipsPicture {
    let coloured = try inScreenColours()
    let whole = coloured.bands == 3 ? try coloured.opaque() : coloured
    guard whole.bands == 4 else { throw DecodeFailure(.unsupported, "a picture of \(bands) channels") }
    return whole
  }

  private func withFirstBands(_ count: CInt) throws(DecodeFailure) -> VipsPicture {
    try unsafe VipsPicture(cvips_first_bands(image, count))
  }

  private func opaque() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(cvips_opaque(image)) }

  /// The picture on white, as a page shows it: a format without alpha would show what alpha hides.
  func onWhite() throws(DecodeFailure) -> VipsPicture { hasAlpha ? try unsafe VipsPicture(cvips_flat(image)) : self }

  /// Whether the picture comes with a profile of colours other than those of a screen. Without one there is nothing
  /// to convert: a detour through a profile would only change the colours a little.
  var hasOwnColours: Bool { profile.map { !ColourProfile.isScreen($0) } ?? false }

  /// Nil without a profile, or with one that does not fit the picture or says nothing new.
  private func convertedByProfile() throws(DecodeFailure) -> VipsPicture? {
    guard hasOwnColours else { return nil }
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
