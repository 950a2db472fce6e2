internal import ImgdWire

/// The names of the values that a target may have.
enum PictureParameter: String, CaseIterable {
  case url, width, height, fit, crop, enlarge, format, quality, dpr, preset, expires, signature
}

/// The values of one target, each read when it is found.
struct GivenParameters {
  var form = WantedForm()
  var source: SourceURL?
  private(set) var presetName: String?
  private(set) var expires: Int?
  private(set) var signature: String?
  private var names: Set<PictureParameter> = []

  /// Reads a value, unless the target had one for the parameter before.
  mutating func read(_ parameter: PictureParameter, _ value: ParameterValue) throws(GatewayError) {
    guard names.insert(parameter).inserted else {
      throw value.refusal("\"\(value.name)\" is given twice; it takes one value")
    }
    switch parameter {
    case .url: source = try SourceURL(Array(value.something("an http or https URL").utf8))
    case .width: form.width = try value.pixels()
    case .height: form.height = try value.pixels()
    case .fit: form.fit = try value.word()
    case .crop: form.crop = try value.word()
    case .enlarge: form.enlarge = try value.flag()
    case .format: form.format = try value.word()
    case .quality: form.quality = try value.integer(WireLimits.quality, "a whole number from 1 to 100")
    case .dpr: form.density = try value.density()
    case .preset: presetName = try value.something("the name of a preset")
    case .expires: expires = try value.integer(0...Int.max, "seconds since 1970")
    case .signature: signature = try value.something("a signature in base64url")
    }
  }
}
