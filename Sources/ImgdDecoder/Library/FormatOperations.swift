import ImgdPicture

/// What libvips calls its loaders and savers.
extension PictureFormat {
  struct Loader {
    /// The operation.
    let operation: String
    /// The class that this loader and its variants come from.
    let family: String

    fileprivate init(_ operation: String, _ family: String) {
      self.operation = operation
      self.family = family
    }
  }

  /// Nil for what is read without the library.
  var loader: Loader? {
    switch self {
    case .jpeg: Loader("jpegload_buffer", "VipsForeignLoadJpeg")
    case .png: Loader("pngload_buffer", "VipsForeignLoadPng")
    case .gif: Loader("gifload_buffer", "VipsForeignLoadNsgif")
    case .webp: Loader("webpload_buffer", "VipsForeignLoadWebp")
    case .avif, .heic: Loader("heifload_buffer", "VipsForeignLoadHeif")
    case .tiff: Loader("tiffload_buffer", "VipsForeignLoadTiff")
    case .jxl: Loader("jxlload_buffer", "VipsForeignLoadJxl")
    case .jp2: Loader("jp2kload_buffer", "VipsForeignLoadJp2k")
    case .bmp, .ico: nil
    }
  }

  /// Nil for what is not written.
  var saver: String? {
    switch self {
    case .jpeg: "jpegsave_buffer"
    case .png: "pngsave_buffer"
    case .gif: "gifsave_buffer"
    case .webp: "webpsave_buffer"
    case .avif: "heifsave_buffer"
    case .tiff: "tiffsave_buffer"
    case .jxl: "jxlsave_buffer"
    case .heic, .jp2, .bmp, .ico: nil
    }
  }

  var saverFamily: String? {
    switch self {
    case .jpeg: "VipsForeignSaveJpeg"
    case .png: "VipsForeignSavePng"
    case .gif: "VipsForeignSaveCgif"
    case .webp: "VipsForeignSaveWebp"
    case .avif: "VipsForeignSaveHeif"
    case .tiff: "VipsForeignSaveTiff"
    case .jxl: "VipsForeignSaveJxl"
    case .heic, .jp2, .bmp, .ico: nil
    }
  }

  /// The longest side that is written; nil where the limits of imgd are smaller. An AVIF may be larger, and libheif
  /// refuses to read it then.
  var longestSide: Int? {
    switch self {
    case .jpeg: 65_500
    case .webp: 16_383
    case .avif: 16_384
    case .gif: 65_535
    case .png, .tiff, .jxl, .heic, .jp2, .bmp, .ico: nil
    }
  }

  /// Whether a file of this format may move, and is read and written so.
  var isAnimatable: Bool { self == .gif || self == .webp }
}
