import ImgdPicture

/// The names that libvips gives its loaders and savers.
extension PictureFormat {
  struct Operation {
    let name: String
    /// The class that the operation and its variants come from.
    let family: String

    fileprivate init(_ name: String, _ family: String) {
      self.name = name
      self.family = family
    }
  }

  /// Nil for a format that is read without the library.
  var loader: Operation? {
    switch self {
    case .jpeg: Operation("jpegload_buffer", "VipsForeignLoadJpeg")
    case .png: Operation("pngload_buffer", "VipsForeignLoadPng")
    case .gif: Operation("gifload_buffer", "VipsForeignLoadNsgif")
    case .webp: Operation("webpload_buffer", "VipsForeignLoadWebp")
    case .avif, .heic: Operation("heifload_buffer", "VipsForeignLoadHeif")
    case .tiff: Operation("tiffload_buffer", "VipsForeignLoadTiff")
    case .jxl: Operation("jxlload_buffer", "VipsForeignLoadJxl")
    case .jp2: Operation("jp2kload_buffer", "VipsForeignLoadJp2k")
    case .bmp, .ico: nil
    }
  }

  /// Nil for a format that is not written.
  var saver: Operation? {
    switch self {
    case .jpeg: Operation("jpegsave_buffer", "VipsForeignSaveJpeg")
    case .png: Operation("pngsave_buffer", "VipsForeignSavePng")
    case .gif: Operation("gifsave_buffer", "VipsForeignSaveCgif")
    case .webp: Operation("webpsave_buffer", "VipsForeignSaveWebp")
    case .avif: Operation("heifsave_buffer", "VipsForeignSaveHeif")
    case .tiff: Operation("tiffsave_buffer", "VipsForeignSaveTiff")
    case .jxl: Operation("jxlsave_buffer", "VipsForeignSaveJxl")
    case .heic, .jp2, .bmp, .ico: nil
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
    case .png, .tiff, .jxl, .heic, .jp2, .bmp, .ico: nil
    }
  }

  /// Whether a file of this format may be animated, and is read and written that way.
  var isAnimatable: Bool { self == .gif || self == .webp }
}
