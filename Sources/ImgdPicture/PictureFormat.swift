/// The picture formats that are accepted; every other kind of file is refused. An animated PNG is a `png` with more
/// than one frame, a cursor is an `ico`: they share a reader and a media type.
package enum PictureFormat: UInt8, Sendable, CaseIterable {
  case jpeg, png, gif, webp, avif, heic, tiff, bmp, ico, jxl, jp2, svg

  /// The name of the format in replies and settings.
  package var name: String {
    switch self {
    case .jpeg: "jpeg"
    case .png: "png"
    case .gif: "gif"
    case .webp: "webp"
    case .avif: "avif"
    case .heic: "heic"
    case .tiff: "tiff"
    case .bmp: "bmp"
    case .ico: "ico"
    case .jxl: "jxl"
    case .jp2: "jp2"
    case .svg: "svg"
    }
  }

  /// The registered media type, independent of the one that the server sent.
  package var mediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webp: "image/webp"
    case .avif: "image/avif"
    case .heic: "image/heic"
    case .tiff: "image/tiff"
    case .bmp: "image/bmp"
    case .ico: "image/vnd.microsoft.icon"
    case .jxl: "image/jxl"
    case .jp2: "image/jp2"
    case .svg: "image/svg+xml"
    }
  }

  /// Whether something can be seen through pictures of this format.
  package var hasAlpha: Bool { self != .jpeg && self != .bmp }

  /// Whether animations are both read and written in it.
  package var isAnimatable: Bool { self == .gif || self == .webp }

  /// Whether it is drawn anew at each size that is wanted, and has no pixels of its own.
  package var isDrawn: Bool { self == .svg }

  /// The usual file name extension, without the dot.
  package var fileExtension: String { self == .jpeg ? "jpg" : name }
}
