// Which form a request gets of a picture: the one that it names, or the best of a list for this picture.
//
// The choice is made of facts about the picture alone, before its bytes are read: so what is kept has the key of the
// encoding that was made, and a list finds what was made for another request.

import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdText
import ImgdWire

/// The form in which a request wants its picture: one rendition for each encoding that it accepts.
final class WantedRendition {
  /// A rendition, and how it is written in keys.
  struct Form {
    let format: OutputFormat
    let rendition: Rendition
    let text: String
  }

  enum Choice {
    /// The picture already is as it is wanted.
    case original
    case form(Form)
    case refused(DecodeFailure)
  }

  private let forms: [Form]
  private let frames: FrameChoice

  /// Nil for the picture as its origin sends it.
  init?(_ form: PictureForm, for delivery: Delivery) {
    guard delivery == .pixels || !form.isOriginal else { return nil }
    frames = delivery == .pixels && form.frames != .all ? .first : form.frames
    forms = (delivery == .pixels ? [.original] : form.formats).map { format in
      let rendition = Rendition(form, as: format, for: delivery)
      return Form(format: format, rendition: rendition, text: rendition.form)
    }
  }

  /// Whether a picture needs no decoder, as far as is known without one.
  func leavesAsItIs(_ facts: ImageFacts) -> Bool {
    if case .form = choice(for: facts, writable: nil) { false } else { true }
  }

  /// The form for a picture: the first encoding that can be written and that loses nothing of the picture. If each loses
  /// something, it is the first of those that lose least.
  ///
  /// `writable` is nil as long as that is unknown: then everything counts as writable.
  func choice(for facts: ImageFacts, writable: @autoclosure () -> Set<PictureFormat>?) -> Choice {
    if forms.count == 1, frames != .all { return choice(forms[0], for: facts) }
    let picture = Candidate(facts: facts, writable: writable(), keepsFrames: frames != .first)
    var best: (form: Form, losses: Int)?
    var isPossible = false
    for form in forms where isEligible(form, for: picture) {
      isPossible = true
      let losesFrames = picture.losesFrames(as: form)
      if frames == .all, losesFrames { continue }
      // An AVIF of one frame is the last thing that an animation should become.
      let losses = (losesFrames ? form.format == .avif ? 4 : 2 : 0) + picture.lossOfAlpha(as: form)
      if losses < best?.losses ?? .max { best = (form, losses) }
    }
    if let best { return choice(best.form, for: facts) }
    return .refused(isPossible ? picture.lostFrames(forms) : picture.unwritable(forms))
  }

  private func choice(_ form: Form, for facts: ImageFacts) -> Choice {
    form.rendition.isNeeded(for: facts) ? .form(form) : .original
  }

  /// Whether an encoding is one for this picture. The picture's own, before others, has to be one that every browser
  /// shows, or that the list names as well.
  private func isEligible(_ form: Form, for picture: Candidate) -> Bool {
    guard forms.count > 1 else { return true }
    let own = picture.facts.pictureFormat
    let canBeMade = !picture.needs(form) || picture.writes(PictureFormat(form.format) ?? own)
    guard form.format == .original else { return canBeMade }
    if forms.last?.format == .original { return true }
    return canBeMade && (own.isShownByBrowsers || forms.contains { PictureFormat($0.format) == own })
  }
}

/// What a choice has to do with.
private struct Candidate {
  let facts: ImageFacts
  let writable: Set<PictureFormat>?
  /// Whether frames of an animation are to be kept.
  let keepsFrames: Bool

  func needs(_ form: WantedRendition.Form) -> Bool { form.rendition.isNeeded(for: facts) }

  func writes(_ format: PictureFormat) -> Bool { format.isWritten && writable?.contains(format) ?? true }

  func losesFrames(as form: WantedRendition.Form) -> Bool {
    guard keepsFrames, facts.frames > 1, needs(form) else { return false }
    let own = facts.pictureFormat
    if form.rendition.isPixels { return !own.isAnimatable }
    let target = PictureFormat(form.format) ?? own
    return !(own.isAnimatable && target.isAnimatable && writes(target))
  }

  /// What the loss of alpha counts: 2 where all of it is lost, and 1 in a GIF, whose pixels are seen or not. How much
  /// alpha a picture has is not known before it is decoded; that of another GIF is of this kind.
  func lossOfAlpha(as form: WantedRendition.Form) -> Int {
    switch form.format {
    case _ where facts.isOpaque: 0
    case .jpeg: 2
    case .gif where facts.pictureFormat != .gif: 1
    default: 0
    }
  }

  func lostFrames(_ forms: [WantedRendition.Form]) -> DecodeFailure {
    let own = facts.pictureFormat
    let reason =
      own.isAnimatable
      ? "\(names(forms)) would keep one of them: name webp or gif" : "of a \(own.name) only the first can be decoded"
    return DecodeFailure(.unsupported, "the picture has \(facts.frames) frames, and \(reason), or leave out \"frames\"")
  }

  func unwritable(_ forms: [WantedRendition.Form]) -> DecodeFailure {
    DecodeFailure(
      .unsupported, "the picture's format is \(facts.pictureFormat.name), and \(names(forms)) cannot be written here")
  }

  private func names(_ forms: [WantedRendition.Form]) -> String {
    alternatives(forms.map { $0.format.rawValue })
  }
}

extension PictureFormat {
  /// Whether some decoder writes it.
  fileprivate var isWritten: Bool { OutputFormat(rawValue: name).map { OutputFormat.alone.contains($0) } ?? false }

  fileprivate var isShownByBrowsers: Bool {
    switch self {
    case .jpeg, .png, .gif, .webp, .avif, .ico: true
    case .heic, .tiff, .bmp, .jxl, .jp2: false
    // A program that shows it may run what is in it: a list has to name it.
    case .svg: false
    }
  }
}

// What a decoder has to make, and whether a picture is that already.

extension Rendition {
  /// The form of a picture for one of the encodings that a request accepts.
  init(_ form: PictureForm, as format: OutputFormat, for delivery: Delivery) {
    let box = form.box.map { Box($0) }
    if delivery == .pixels {
      self.init(.pixels, box: box, frames: form.frames == .all ? .all : .first, layout: Layout(form.layout))
    } else {
      self.init(
        .file(PictureFormat(format), quality: form.quality), box: box, frames: form.frames == .first ? .first : .all,
        mostBytes: PictureFormat(format).map { $0.usualQuality != nil } ?? true ? form.mostBytes : nil)
    }
  }
}

extension PictureFormat {
  /// Nil for the picture's own format.
  init?(_ format: OutputFormat) {
    guard let known = PictureFormat.allCases.first(where: { $0.name == format.rawValue }) else { return nil }
    self = known
  }
}

extension Rendition.Box {
  fileprivate init(_ box: PictureForm.Box) {
    let fit: Fit =
      switch box.fit {
      case .contain: .contain
      case .cover: .cover
      case .fill: .fill
      case .pad: .pad
      case .coverAlike: .coverAlike
      case .coverDown: .coverDown
      }
    self.init(
      width: box.width, height: box.height, fit: fit, crop: Crop(box.crop), enlarges: box.enlarge, isLinear: box.linear,
      area: box.area.map { Area($0) },
      background: box.background.map {
        Rendition.Colour(red: $0.red, green: $0.green, blue: $0.blue, alpha: $0.alpha)
      })
    (minWidth, minHeight, scale, rotation) = (box.minWidth, box.minHeight, box.scale?.millionths, box.rotate)
    padding = box.padding.map { Padding(top: $0.top, right: $0.right, bottom: $0.bottom, left: $0.left) }
  }

  /// Whether an upright picture of this size stays as it is.
  fileprivate func keeps(width ownWidth: Int, height ownHeight: Int) -> Bool {
    let (width, height) = (width ?? .max, height ?? .max)
    guard area == nil, isPlain else { return false }
    if ownWidth == width && ownHeight == height { return true }
    guard fit != .pad, fit != .coverDown, ownWidth <= width, ownHeight <= height else { return false }
    guard enlarges else { return true }
    // It is as large as it can be inside the box.
    return fit == .contain && (ownWidth == width || ownHeight == height)
  }

  /// Whether nothing is done but to fit it: it is not turned, has no padding, and no size depends on its own.
  var isPlain: Bool { minWidth == nil && minHeight == nil && scale == nil && padding == nil && rotation == 0 }
}

extension Rendition {
  /// Whether a picture has to be decoded for it; one that is already as wanted passes through untouched.
  func isNeeded(for facts: ImageFacts) -> Bool {
    guard case .file(let format, let quality) = output else { return true }
    if quality != nil || facts.frames > 1 && frames == .first { return true }
    if mostBytes != nil, (format ?? facts.pictureFormat).usualQuality != nil { return true }
    if let format, format != facts.pictureFormat { return true }
    guard let box else { return false }
    // What has a size is pixels.
    if facts.pictureFormat.isDrawn { return true }
    let isTurned = facts.exifOrientation >= 5
    let (width, height) = (Int(facts.width), Int(facts.height))
    return !box.keeps(width: isTurned ? height : width, height: isTurned ? width : height)
  }

  /// The form as text, which is part of keys that outlive the program.
  var form: String {
    "\(output.form)\(layout.form) \(frames == .all ? "all" : "first") \(box.map(\.form) ?? "own")"
      + (mostBytes.map { " within \($0)" } ?? "")
  }
}

extension Rendition.Layout {
  init(_ layout: PixelLayout) {
    switch layout {
    case .rgba8: self = .rgba
    case .bgra8Premultiplied: self = .premultipliedBGRA
    }
  }

  fileprivate var form: String { self == .rgba ? "" : " bgra" }
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
    return "\(sides) \(fit) \(crop.form) \(enlarges ? "up" : "down") \(isLinear ? "linear" : "plain")"
      + (area.map { " of \($0.form)" } ?? "") + (background.map { " on \($0.form)" } ?? "") + rest
  }

  /// What most forms do not have.
  private var rest: String {
    guard !isPlain else { return "" }
    let sides = padding.map { "\($0.top),\($0.right),\($0.bottom),\($0.left)" } ?? "none"
    return " least \(minWidth ?? 0)x\(minHeight ?? 0) times \(scale ?? 0) padding \(sides) turned \(rotation)"
  }
}

extension Rendition.Box.Crop {
  fileprivate init(_ crop: PictureForm.Crop) {
    switch crop {
    case .centre: self = .centre
    case .attention: self = .attention
    case .point(let x, let y): self = .point(x: x.millionths, y: y.millionths)
    }
  }

  fileprivate var form: String {
    switch self {
    case .centre: "centre"
    case .attention: "attention"
    case .point(let x, let y): "\(x),\(y)"
    }
  }
}

extension Rendition.Box.Area {
  fileprivate init(_ area: PictureForm.Area) {
    switch area {
    case .pixels(let x, let y, let width, let height):
      self.init(x: x, y: y, width: width, height: height, isRelative: false)
    case .fractions(let x, let y, let width, let height):
      self.init(
        x: x.millionths, y: y.millionths, width: width.millionths, height: height.millionths, isRelative: true)
    case .around(let crop, let width, let height): self.init(around: .init(crop), width: width, height: height)
    }
  }

  fileprivate var form: String {
    guard let crop else { return "\(x),\(y),\(width),\(height) \(isRelative ? "parts" : "pixels")" }
    return "\(width),\(height) around \(crop.form)"
  }
}

extension Rendition.Colour { fileprivate var form: String { "\(red),\(green),\(blue),\(alpha)" } }
