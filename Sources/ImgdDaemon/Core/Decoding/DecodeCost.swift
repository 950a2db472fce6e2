// How long a decoder will take, judged by the pixels of the picture, of its intermediate size and of the result.
//
// The figures were measured with a noisy photograph, in nanoseconds of one processor per pixel. They are fixed: the
// same order has the same place every day, and no client can teach the daemon a wrong one. They decide who is let
// through, and what the account of an order is charged until it ends.

import ImgdCache
import ImgdDecode
import ImgdPicture
import ImgdSystem

extension ServiceTime {
  /// The time that it takes to make a rendition of a picture; a JPEG's own coding may make it much longer.
  init(making rendition: Rendition, of facts: ImageFacts, coded coding: JPEGCoding = .baseline) {
    let frames = rendition.frames == .all && rendition.output != .description ? Double(facts.frames) : 1
    let isTurned = facts.exifOrientation >= 5
    let (width, height) = (Double(facts.width), Double(facts.height))
    let own = DecodeCost.Size(width: isTurned ? height : width, height: isTurned ? width : height)
    let nanoseconds = frames * DecodeCost.nanoseconds(rendition, of: own, facts.pictureFormat, coding)
    self.init(min(.nanoseconds(Int64(min(nanoseconds, 1e15))) + DecodeCost.each, DecodeCost.longest))
  }
}

enum DecodeCost {
  /// Width and height, which may be larger than those of any picture.
  struct Size {
    static let one = Size(width: 1, height: 1)

    var width: Double
    var height: Double

    var pixels: Double { width * height }

    func scaled(_ across: Double, _ down: Double) -> Size {
      Size(width: max(1, width * across), height: max(1, height * down))
    }
  }

  /// Added for each order: the messages take time, and so does even the smallest picture.
  static let each = Duration.milliseconds(2)
  /// Anything longer would be a mere guess, and as a charge this is long enough.
  static let longest = Duration.seconds(10)

  /// The time for one frame.
  static func nanoseconds(_ rendition: Rendition, of own: Size, _ format: PictureFormat, _ coding: JPEGCoding) -> Double
  {
    let read = own.pixels * format.reading * (format == .jpeg ? coding.factor : 1)
    // A description has a box of its own.
    let box = rendition.box ?? (rendition.output == .description ? Rendition.Box(width: 100, height: 100) : nil)
    guard var box else { return read + own.pixels * rendition.writing(format) }
    // It is drawn in the size that is wanted.
    if format.isDrawn { box.enlarges = true }
    let part = box.part(of: own)
    let scaled = box.scaled(part)
    if format.isDrawn { return box.framed(scaled).pixels * (format.reading + rendition.writing(format)) }
    // The loaders of these formats leave out what is not needed.
    let mayBeReadSmall = (format == .jpeg || format == .webp) && !box.isLinear && box.area == nil
    let isReadSmall = mayBeReadSmall && scaled.pixels * 16 <= own.pixels
    let scaling = (box.isLinear ? 40 : 10) * (isReadSmall ? min(own.pixels, scaled.pixels * 16) : part.pixels)
    return read + scaling + 30 * scaled.pixels + box.framed(scaled).pixels * rendition.writing(format)
  }
}

extension Rendition {
  /// Whether it is a file, which the disk may keep and which may have several frames; pixels and descriptions are not.
  var isFile: Bool { if case .file = output { true } else { false } }
}

extension Rendition {
  /// The time to write one pixel, as often as it is done in search of a file that is small enough.
  fileprivate func writing(_ own: PictureFormat) -> Double { output.writing(own) * (mostBytes == nil ? 1 : 5) }
}

extension Rendition.Output {
  /// The time to write one pixel; `own` is the format of the original.
  fileprivate func writing(_ own: PictureFormat) -> Double {
    guard case .file(let format, _) = self else { return 2 }
    return (format ?? own).writing
  }
}

extension JPEGCoding {
  /// How much longer it takes to read than a baseline JPEG of three colours. A progressive one is read again for
  /// each of its scans, usually ten, and a hundred at most.
  fileprivate var factor: Double { (isProgressive ? 10 : 1) * (colours > 3 ? 3 : 1) }
}

extension PictureFormat {
  fileprivate var reading: Double {
    switch self {
    case .jpeg: 4
    case .png: 17
    case .gif, .tiff: 12
    case .webp: 25
    case .avif: 40
    case .heic: 55
    case .jxl: 26
    case .jp2: 90
    case .bmp, .ico: 2
    // For each pixel that is drawn, where there is little to draw.
    case .svg: 30
    }
  }

  /// A picture in a format that cannot be written becomes a PNG.
  fileprivate var writing: Double {
    switch self {
    case .jpeg: 5
    case .png, .heic, .jp2, .bmp, .ico, .svg: 75
    case .gif: 2_000
    case .webp: 105
    // A photograph takes 1,700, noise 4,400, whatever the quality.
    case .avif: 2_800
    case .tiff: 200
    case .jxl: 270
    }
  }
}

extension Rendition.Box {
  /// The size to which a picture is scaled, before anything of it is cut off.
  fileprivate func scaled(_ own: DecodeCost.Size) -> DecodeCost.Size {
    let across = width.map { Double($0) / max(1, own.width) }
    let down = height.map { Double($0) / max(1, own.height) }
    if let scale { return own.scaled(limit(Double(scale) / 1e6), limit(Double(scale) / 1e6)) }
    switch fit {
    case .fill: return own.scaled(limit(across ?? 1), limit(down ?? 1))
    case .contain, .pad:
      let factor = limit([across, down].compactMap { $0 }.min() ?? 1)
      return own.scaled(factor, factor)
    case .cover, .coverAlike, .coverDown:
      let factor = limit(max(across ?? 1, down ?? 1))
      return own.scaled(factor, factor)
    }
  }

  private func limit(_ factor: Double) -> Double { enlarges ? factor : min(1, factor) }

  /// What is cut out before.
  fileprivate func part(of own: DecodeCost.Size) -> DecodeCost.Size {
    guard let area else { return own }
    let unit = area.isRelative ? DecodeCost.Size(width: own.width / 1e6, height: own.height / 1e6) : .one
    return DecodeCost.Size(
      width: min(own.width, max(1, Double(area.width) * unit.width)),
      height: min(own.height, max(1, Double(area.height) * unit.height)))
  }

  /// What is left after cropping, or what it is after padding.
  fileprivate func framed(_ scaled: DecodeCost.Size) -> DecodeCost.Size {
    let wanted = DecodeCost.Size(
      width: width.map(Double.init) ?? scaled.width, height: height.map(Double.init) ?? scaled.height)
    switch fit {
    case .pad: return padded(wanted)
    case .contain, .fill: return padded(scaled)
    case .cover, .coverAlike, .coverDown:
      return padded(
        DecodeCost.Size(width: min(scaled.width, wanted.width), height: min(scaled.height, wanted.height)))
    }
  }

  private func padded(_ size: DecodeCost.Size) -> DecodeCost.Size {
    let (across, down) = (padding.map { $0.left + $0.right } ?? 0, padding.map { $0.top + $0.bottom } ?? 0)
    return DecodeCost.Size(
      width: max(size.width, Double(minWidth ?? 0)) + Double(across),
      height: max(size.height, Double(minHeight ?? 0)) + Double(down))
  }
}

/// Pictures over which decoders took far longer than their sizes suggest: other forms of them no longer count as quick.
struct SlowPictures {
  /// How many are remembered; beyond that the oldest is forgotten.
  private static let most = 1_024
  /// A busy machine makes every order take longer: only what is out of all proportion counts.
  private static let factor: Int64 = 4
  private static let least = ServiceTime(.seconds(1))

  private var times: [BodyChecksum: ServiceTime] = [:]
  private var order = Fifo<BodyChecksum>()

  /// The least time that an order for the picture takes, as far as that is known.
  func time(of picture: BodyChecksum) -> ServiceTime { times[picture] ?? ServiceTime(.zero) }

  mutating func note(_ picture: BodyChecksum, took time: ServiceTime, expected: ServiceTime) {
    guard picture != .unknown, time >= Self.least, time.charge / Self.factor >= expected.charge else { return }
    guard times.updateValue(time, forKey: picture) == nil else { return }
    order.append(picture)
    if order.count > Self.most, let oldest = order.popFirst() { times[oldest] = nil }
  }
}
