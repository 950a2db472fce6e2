// Of which stored form of a picture another can be made, once the bytes of the picture have gone.
//
//   wanted   a smaller size of the whole picture, as `contain` gives it
//   stored   the whole picture, upright: `contain` or its own size, neither enlarged nor on a background
//   size     at least twice that of what is wanted, across and down
//   loss     none (PNG, TIFF), or the encoding that is wanted with a quality that is no lower
//   alpha    as the picture has it
//   frames   as many as are wanted of the picture
//   colours  mixed as is wanted
//
// What an encoding has lost of a picture lies mostly between neighbouring pixels, and goes where four of them or more
// become one. Anything else is made of the picture itself.

import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdWire

struct FormSource {
  private let wanted: Rendition
  private let box: Rendition.Box
  private let original: ImageFacts
  /// The encoding of what is wanted; nil for pixels.
  private let format: PictureFormat?
  private let width: Int
  private let height: Int

  /// Nil for what is made of the picture alone. `writable` has the formats that decoders write here.
  init?(for wanted: Rendition, of original: ImageFacts, writable: Set<PictureFormat>?) {
    guard let box = wanted.box, box.fit == .contain, box.area == nil, box.isPlain, box.width != nil || box.height != nil
    else {
      return nil
    }
    switch wanted.output {
    case .description: return nil
    case .pixels: format = nil
    // Which one a picture gets that cannot be written as it is, its decoder finds out.
    case .file(nil, _) where writable.map { !$0.contains(original.pictureFormat) } ?? false: return nil
    case .file(let named, _): format = named ?? original.pictureFormat
    }
    let isTurned = original.exifOrientation >= 5
    let own = (
      width: Double(isTurned ? original.height : original.width),
      height: Double(isTurned ? original.width : original.height)
    )
    let sides = [box.width.map { Double($0) / own.width }, box.height.map { Double($0) / own.height }]
    let scale = sides.compactMap(\.self).min() ?? 1
    guard scale < 1 else { return nil }
    width = max(1, Int((own.width * scale).rounded()))
    height = max(1, Int((own.height * scale).rounded()))
    (self.wanted, self.box, self.original) = (wanted, box, original)
  }

  /// Whether a form that looks like this may be one.
  func mayBe(_ form: ImageFacts) -> Bool {
    form.width >= 2 * width && form.height >= 2 * height && keepsAlpha(form) && keepsFrames(form)
  }

  /// What has to be ordered of a stored form, which is written in its key as `text`; nil if it is not good enough.
  func rendition(from text: String, _ form: ImageFacts) -> Rendition? {
    guard mayBe(form), let stored = StoredForm(text), stored.isWhole, isAsGood(form.pictureFormat, stored.quality),
      stored.isLinear == nil || stored.isLinear == box.isLinear
    else { return nil }
    var rendition = wanted
    // To the pixel what the picture itself would have come to.
    rendition.box = Rendition.Box(
      width: width, height: height, fit: .fill, isLinear: box.isLinear, background: box.background)
    if case .file(_, let quality) = wanted.output { rendition.output = .file(format, quality: quality) }
    return rendition
  }

  private func isAsGood(_ stored: PictureFormat, _ quality: Int?) -> Bool {
    if stored == .png || stored == .tiff { return true }
    guard stored == format, stored != .gif, case .file(_, let wanted) = wanted.output else { return false }
    guard let quality, let wanted else { return quality == wanted }
    return quality >= wanted
  }

  private func keepsAlpha(_ form: ImageFacts) -> Bool {
    original.isOpaque || form.pictureFormat.hasAlpha && form.pictureFormat != .gif
  }

  private func keepsFrames(_ form: ImageFacts) -> Bool {
    if form.frames == original.frames { return true }
    // The frames of what pixels were made of are told with them.
    guard let format else { return false }
    let isStill = wanted.frames == .first || !format.isAnimatable || !original.pictureFormat.isAnimatable
    return isStill && form.frames >= 1
  }
}

/// A form as its text says it (`Rendition.form`).
private struct StoredForm {
  /// Nil for the usual one.
  let quality: Int?
  /// Whether it is the whole picture, and nothing else.
  let isWhole: Bool
  /// Nil for a picture in its own size.
  let isLinear: Bool?

  /// Nil for a form that is not a file.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 5, words[0] == "file" else { return nil }
    quality = Int(words[2])
    let isOwn = words.count == 5 && words[4] == "own"
    isWhole = isOwn || words.count == 9 && words[5] == "contain" && words[7] == "down"
    isLinear = isOwn ? nil : words.last == "linear"
  }
}
