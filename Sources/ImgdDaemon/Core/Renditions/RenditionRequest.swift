import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdWire

// The form of a picture that a request wants, and whether a picture has it already.

extension FetchRequest {
  /// The rendition that the request wants; nil for the picture as its origin sends it.
  var rendition: Rendition? {
    let form = form
    guard delivery == .pixels || !form.isOriginal else { return nil }
    let box = form.box.map { Rendition.Box($0) }
    if delivery == .pixels { return Rendition(.pixels, box: box, frames: .first) }
    return Rendition(
      .file(PictureFormat(form.format), quality: form.quality), box: box, frames: form.frames == .all ? .all : .first)
  }
}

extension PictureFormat {
  /// Nil for the picture's own format.
  fileprivate init?(_ format: OutputFormat) {
    switch format {
    case .original: return nil
    case .jpeg: self = .jpeg
    case .png: self = .png
    case .webp: self = .webp
    case .avif: self = .avif
    }
  }
}

extension Rendition.Box {
  fileprivate init(_ box: PictureForm.Box) {
    let fit: Fit =
      switch box.fit {
      case .contain: .contain
      case .cover: .cover
      case .fill: .fill
      }
    self.init(
      width: box.width, height: box.height, fit: fit, crop: box.crop == .centre ? .centre : .attention,
      enlarges: box.enlarge, isLinear: box.linear)
  }

  /// Whether an upright picture of this size stays as it is.
  fileprivate func keeps(width ownWidth: Int, height ownHeight: Int) -> Bool {
    let (width, height) = (width ?? .max, height ?? .max)
    if ownWidth == width && ownHeight == height { return true }
    guard ownWidth <= width, ownHeight <= height else { return false }
    guard enlarges else { return true }
    // It is as large as it can be inside the box.
    return fit == .contain && (ownWidth == width || ownHeight == height)
  }
}

extension Rendition {
  /// Whether a picture has to be decoded for it; one that is already as wanted passes through
  /// untouched.
  func isNeeded(for facts: ImageFacts) -> Bool {
    guard case .file(let format, let quality) = output else { return true }
    if quality != nil || facts.frames > 1 && frames == .first { return true }
    if let format, format != facts.pictureFormat { return true }
    guard let box else { return false }
    let isTurned = facts.orientation >= 5
    let (width, height) = (Int(facts.width), Int(facts.height))
    return !box.keeps(width: isTurned ? height : width, height: isTurned ? width : height)
  }

  /// The form as text, which is part of keys that outlive the program.
  var form: String { "\(output.form) \(frames == .all ? "all" : "first") \(box.map(\.form) ?? "own")" }
}

extension Rendition.Output {
  fileprivate var form: String {
    switch self {
    case .pixels: "pixels"
    case .description: "description"
    case .file(let format, let quality): "file \(format?.name ?? "original") \(quality.map(String.init) ?? "usual")"
    }
  }
}

extension Rendition.Box {
  fileprivate var form: String {
    let sides = [width, height].map { $0.map(String.init) ?? "any" }.joined(separator: "x")
    return "\(sides) \(fit) \(crop) \(enlarges ? "up" : "down") \(isLinear ? "linear" : "plain")"
  }
}
