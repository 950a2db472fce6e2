import ImgdCache
import ImgdDecode
import ImgdWire

// Limits that a picture is held to before a decoder sees it, and the failures of decoders as errors.

extension DecodeLimits {
  init(_ settings: Configuration.Decode) {
    self.init(pixels: settings.maxPixels, frames: settings.maxFrames, dimension: settings.maxDimension)
  }

  /// Why a picture is not decoded, going by what its header claims; nil if it is.
  func refusal(of facts: ImageFacts) -> DecodeFailure? {
    let (width, height, frames) = (Int(facts.width), Int(facts.height), Int(facts.frames))
    if frames > self.frames {
      return DecodeFailure(.tooLarge, "the picture has \(frames) frames, and Decode.MaxFrames is \(self.frames)")
    }
    if max(width, height) > dimension {
      return DecodeFailure(
        .tooLarge, "the picture has \(width) x \(height) pixels, and Decode.MaxDimension is \(dimension)")
    }
    // Each is less than 2^31, but their product may overflow.
    let (all, isTooMuch) = (width * height).multipliedReportingOverflow(by: frames)
    guard isTooMuch || all > pixels else { return nil }
    let moving = frames > 1 ? " in \(frames) frames" : ""
    return DecodeFailure(
      .tooLarge, "the picture has \(width) x \(height) pixels\(moving), and Decode.MaxPixels is \(pixels)")
  }
}

extension DecodeFailure {
  static let nothingMade = DecodeFailure(.damaged, "the decoder made nothing of it")

  /// The error that a client gets.
  var error: WireError {
    switch cause {
    case .damaged: WireError(.decodeFailed, "the picture cannot be decoded: \(reason)")
    case .unsupported: WireError(.unsupportedFormat, reason)
    case .tooLarge: WireError(.tooManyPixels, reason)
    case .unmade: WireError(.decodeFailed, "the picture cannot be brought into this form: \(reason)")
    case .crashed, .killed: WireError(.decodeCrashed, "the decoder ended over this picture: \(reason)")
    case .timedOut: WireError(.timeout, "the picture is not decoded: \(reason)", details: ["phase": "decode"])
    case .unavailable: WireError(.unavailable, reason)
    case .stopped: .shuttingDown
    case .queueFull: WireError(.queueFull, reason)
    }
  }
}
