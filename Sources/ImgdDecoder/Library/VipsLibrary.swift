// libvips reads far more than the pictures of the web, and looks for a loader that fits the bytes. Here a loader is
// chosen by the format that the daemon recognised, and all others are blocked, among them those that read other
// files, scripts or documents: PDF, PostScript, ImageMagick's two hundred. Drawings do not go through it (`Drawing`).

internal import CVips
import Glibc
import ImgdDecode
import ImgdPicture

/// The library, set up for one picture at a time.
enum VipsLibrary {
  /// Threads of the library for one picture. Two were hardly faster for one picture of 24 megapixels (80 ms instead of
  /// 83 for a thumbnail), and the cores are better used by as many decoders as there are cores.
  static let threads: CInt = 1

  /// Loads the library's modules, which are files; false when it does not start.
  static func start() -> Bool {
    // Warnings would go to standard error, and some of them repeat what is in a file.
    _ = unsafe g_log_set_default_handler({ _, _, _, _ in }, nil)
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
    unsafe vips_operation_block_set("VipsForeignLoad", 1)
    unsafe vips_operation_block_set("VipsForeignSave", 1)
    for format in PictureFormat.allCases {
      if let loader = format.loader { unsafe vips_operation_block_set(loader.family, 0) }
      if let saver = format.saver { unsafe vips_operation_block_set(saver.family, 0) }
    }
    return true
  }

  static var version: String { "libvips \(vips_version(0)).\(vips_version(1)).\(vips_version(2))" }

  static var savers: [PictureFormat] {
    PictureFormat.allCases.filter { format in
      guard let saver = format.saver else { return false }
      return unsafe vips_type_find("VipsOperation", saver.name) != 0
    }
  }
}

extension PictureFormat {
  /// An operation, and the class that it and its variants come from.
  typealias Operation = (name: String, family: String)

  /// Nil for a format that is read without the library.
  var loader: Operation? {
    switch self {
    case .jpeg: ("jpegload_buffer", "VipsForeignLoadJpeg")
    case .png: ("pngload_buffer", "VipsForeignLoadPng")
    case .gif: ("gifload_buffer", "VipsForeignLoadNsgif")
    case .webp: ("webpload_buffer", "VipsForeignLoadWebp")
    case .avif, .heic: ("heifload_buffer", "VipsForeignLoadHeif")
    case .tiff: ("tiffload_buffer", "VipsForeignLoadTiff")
    case .jxl: ("jxlload_buffer", "VipsForeignLoadJxl")
    case .jp2: ("jp2kload_buffer", "VipsForeignLoadJp2k")
    case .bmp, .ico, .svg: nil
    }
  }

  /// Nil for a format that is not written.
  var saver: Operation? {
    switch self {
    case .jpeg: ("jpegsave_buffer", "VipsForeignSaveJpeg")
    case .png: ("pngsave_buffer", "VipsForeignSavePng")
    case .gif: ("gifsave_buffer", "VipsForeignSaveCgif")
    case .webp: ("webpsave_buffer", "VipsForeignSaveWebp")
    case .avif: ("heifsave_buffer", "VipsForeignSaveHeif")
    case .tiff: ("tiffsave_buffer", "VipsForeignSaveTiff")
    case .jxl: ("jxlsave_buffer", "VipsForeignSaveJxl")
    case .heic, .jp2, .bmp, .ico, .svg: nil
    }
  }

  /// The longest side that is written; nil where the limits of imgd are smaller. An AVIF may be larger, but libheif
  /// then refuses to read it.
  var longestSide: Int? {
    switch self {
    case .jpeg: 65_500
    case .webp: 16_383
    case .avif: 16_384
    case .gif: 65_535
    case .png, .tiff, .jxl, .heic, .jp2, .bmp, .ico, .svg: nil
    }
  }
}

/// What libvips says about the last call that failed.
enum VipsError {
  /// Returns the failure, and clears its text. Its cause, unless it is known, is that nothing was made, or damage where
  /// the loader has failed alone: a loader may fail within any later step, too.
  static func takeFailure(_ cause: DecodeFailure.Cause = .unmade) -> DecodeFailure {
    defer { vips_error_clear() }
    let text = unsafe String(cString: vips_error_buffer())
    return failure(text.split(separator: "\n").map(String.init), cause)
  }

  /// The failure that lines of a library describe. The first line that says why is the reason: later ones are about
  /// what failed because of it.
  static func failure(_ lines: [String], _ usual: DecodeFailure.Cause) -> DecodeFailure {
    for (cause, words) in [(DecodeFailure.Cause.tooLarge, tooLarge), (.unsupported, unsupported)] {
      let line = lines.first { line in
        let line = line.lowercased()
        return words.contains(where: line.contains)
      }
      if let line { return DecodeFailure(cause, line) }
    }
    let reason = lines.first { !$0.contains(attempt) } ?? lines.first ?? "no reason is given"
    return DecodeFailure(usual, reason)
  }

  /// libheif looks for more bytes than there are, even where it needs none.
  private static let attempt = ": bad seek to "
  private static let tooLarge = [
    "out of memory", "insufficient memory", "cannot allocate", "failed to allocate", "memory error", "exceeds",
    "too large",
  ]
  private static let unsupported = [
    "unsupported", "not supported", "not known", "class \"", "is blocked", "not implemented",
  ]
}
