// AVIF and HEIC are the same container (HEIF) around different codecs; it is derived from MP4. A still
// is an item: `pitm` names the primary one, `iinf` its codec, and `ipma` assigns it properties in
// `ipco`: size, rotation and mirror; a grid of tiles is an item with a size of its own. A sequence is
// a track like that of a film. Many files have both, a cover and a sequence; the major brand says
// which of them the file is.

/// AVIF and HEIC pictures and sequences; films in the same container are refused.
enum HEIF {
  static func measure(_ bytes: Span<UInt8>) throws(NotAPicture) -> PictureMeasures {
    let brands = Brands(bytes)
    guard brands.isPicture else { throw NotAPicture(reason: brands.refusal) }
    let top = 0..<bytes.count
    let item = BoxWalk.first("meta", in: top, of: bytes).flatMap { HEIFItem(meta: $0, bytes: bytes) }
    let track = brands.isSequence ? HEIFTrack(file: top, bytes: bytes) : nil
    guard let width = item?.width ?? track?.width, let height = item?.height ?? track?.height else {
      throw NotAPicture(reason: "HEIF that states no size for its primary item")
    }
    guard let format = item?.format ?? brands.format else {
      throw NotAPicture(reason: "HEIF coded as neither AV1 nor HEVC")
    }
    return PictureMeasures(
      format: format, width: width, height: height, frames: track?.frames ?? 1, orientation: item?.orientation.exif ?? 1
    )
  }
}
