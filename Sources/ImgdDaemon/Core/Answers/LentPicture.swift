import ImgdCache
import ImgdWire

/// What a client that gets a picture's bytes as a descriptor, and may pass them on, has to know
/// about it.
struct LentPicture {
  let version: PictureVersion
  /// Whether others may keep it.
  let mayBeKept: Bool

  init(_ version: PictureVersion, mayBeKept: Bool) {
    self.version = version
    self.mayBeKept = mayBeKept
  }

  init(_ image: CachedImage, among purges: PurgeList) {
    self.init(image.version, mayBeKept: image.mayBeKept && !purges.isPurgedEverywhere(image))
  }

  func write(to line: inout JSONWriter) {
    if version.checksum != .unknown { line.field("checksum", version.checksum.text) }
    if let modified = version.modified { line.field("modified", Timestamp.rfc3339(modified)) }
    if !mayBeKept { line.field("keep", false) }
  }
}
