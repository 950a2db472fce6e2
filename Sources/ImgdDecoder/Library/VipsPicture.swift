internal import CVips
import Glibc
import ImgdDecode

/// An image of libvips: pixels that are computed when they are asked for.
///
/// It reads the bytes that it was made from as long as it lives, and so must not outlive them. The pointer is only
/// given to the library in methods: outside of them, the object may be gone as soon as the pointer has been read.
@safe final class VipsPicture {
  // Safe: the one reference that this object owns.
  let image: UnsafeMutablePointer<VipsImage>

  init(owning image: UnsafeMutablePointer<VipsImage>) { unsafe self.image = image }

  /// The result of a call of the library; its error if there is none.
  init(_ image: UnsafeMutablePointer<VipsImage>?) throws(DecodeFailure) {
    guard let image = unsafe image else { throw VipsError.takeFailure() }
    unsafe self.image = image
  }

  deinit { unsafe g_object_unref(image) }

  var width: Int { unsafe Int(vips_image_get_width(image)) }
  /// The height of all frames together, which are one below the other.
  var height: Int { unsafe Int(vips_image_get_height(image)) }
  var bands: Int { unsafe Int(vips_image_get_bands(image)) }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(image) != 0 }
  /// The height of one frame.
  var frameHeight: Int { unsafe Int(vips_image_get_page_height(image)) }
  var orientation: Int { unsafe Int(vips_image_get_orientation(image)) }

  func set(_ name: String, _ value: Int) { unsafe vips_image_set_int(image, name, CInt(clamping: value)) }

  /// Computes all pixels once and keeps them.
  func computed() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(vips_image_copy_memory(image)) }
}

extension VipsPicture {
  /// A copy of RGBA pixels.
  convenience init(copying pixels: [UInt8], width: Int, height: Int) throws(DecodeFailure) {
    let image = unsafe pixels.withUnsafeBytes {
      unsafe vips_image_new_from_memory_copy($0.baseAddress, $0.count, CInt(width), CInt(height), 4, VIPS_FORMAT_UCHAR)
    }
    guard let image = unsafe image else { throw VipsError.takeFailure() }
    unsafe image.pointee.Type = VIPS_INTERPRETATION_sRGB
    unsafe self.init(owning: image)
  }
}
