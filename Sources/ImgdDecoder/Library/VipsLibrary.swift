// libvips reads far more than the pictures of the web, and looks for a loader that fits the bytes. Here a loader is
// chosen by the format that the daemon recognised, and all others are blocked, among them those that read other
// files, scripts or documents: SVG, PDF, PostScript, ImageMagick's two hundred.

internal import CVips
import Glibc
import ImgdPicture

/// The library, set up for one picture at a time.
enum VipsLibrary {
  /// Threads of the library for one picture. Two were hardly faster for one picture of 24 megapixels (80 ms instead of
  /// 83 for a thumbnail), and the cores are better used by as many decoders as there are cores.
  static let threads: CInt = 1

  /// Loads the library's modules, which are files; false when it does not start.
  static func start() -> Bool {
    silence()
    // Running code that was written into memory is not allowed, neither here nor in a hardened service. One of the
    // operations asks for it even if the library has been told not to.
    guard unsafe setenv("ORC_CODE", "emulate", 1) == 0 else { return false }
    // Pixels that the library keeps would go into a file if they exceed 100 MB, and there are no files: the limit on
    // memory decides how many may be kept.
    guard unsafe setenv("VIPS_DISC_THRESHOLD", "1000000g", 1) == 0 else { return false }
    guard unsafe vips_init("imgd-decoder") == 0 else { return false }
    vips_cache_set_max(0)
    vips_concurrency_set(threads)
    vips_vector_set_enabled(0)
    block()
    return true
  }

  static var version: String { "libvips \(vips_version(0)).\(vips_version(1)).\(vips_version(2))" }

  static var savers: [PictureFormat] {
    PictureFormat.allCases.filter { format in format.saver.map { isThere($0.name) } ?? false }
  }

  private static func isThere(_ operation: String) -> Bool { unsafe vips_type_find("VipsOperation", operation) != 0 }

  private static func block() {
    unsafe vips_operation_block_set("VipsForeignLoad", 1)
    unsafe vips_operation_block_set("VipsForeignSave", 1)
    for format in PictureFormat.allCases {
      if let loader = format.loader { unsafe vips_operation_block_set(loader.family, 0) }
      if let saver = format.saver { unsafe vips_operation_block_set(saver.family, 0) }
    }
  }

  /// Warnings would go to standard error, and some of them repeat what is in a file.
  private static func silence() { _ = unsafe g_log_set_default_handler({ _, _, _, _ in }, nil) }
}
