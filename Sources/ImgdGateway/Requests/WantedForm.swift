package import ImgdWire

/// What a target or a preset says about the form of a picture; nil where it says nothing.
package struct WantedForm: Equatable, Sendable {
  package var width: Int?
  package var height: Int?
  package var fit: PictureForm.Fit?
  package var crop: PictureForm.Crop?
  package var enlarge: Bool?
  package var format: WantedFormat?
  package var quality: Int?
  /// Pixels of the screen for each pixel of the picture's size: both sides are multiplied by it.
  package var density: Double?

  /// The form, completed by the preset where the target says nothing.
  func completed(by preset: WantedForm) -> WantedForm {
    var form = self
    form.width = width ?? preset.width
    form.height = height ?? preset.height
    form.fit = fit ?? preset.fit
    form.crop = crop ?? preset.crop
    form.format = format ?? preset.format
    form.quality = quality ?? preset.quality
    return form
  }

  /// The request for the picture of a URL, with every value that has no effect left out.
  func request(for url: String) throws(GatewayError) -> PictureRequest {
    var request = PictureRequest(url: url)
    request.form.box = try box()
    request.form.quality = quality
    switch format {
    case .named(let format): request.form.format = format
    case .auto: request.negotiatesFormat = true
    case nil: break
    }
    return request
  }

  private func box() throws(GatewayError) -> PictureForm.Box? {
    let (width, height) = (try side(width, "width"), try side(height, "height"))
    let fit = fit ?? .contain
    let crop = fit == .cover ? crop : nil
    switch PictureForm.Box.problem(width: width, height: height, fit: fit, crop: crop) {
    case .noSide where fit == .contain: return nil
    case .some: throw .badRequest("\"fit\" is \"\(fit.rawValue)\", which takes both a width and a height", field: "fit")
    case nil: break
    }
    return PictureForm.Box(width: width, height: height, fit: fit, crop: crop ?? .centre, enlarge: enlarge ?? false)
  }

  private func side(_ length: Int?, _ name: String) throws(GatewayError) -> Int? {
    guard let length, let density else { return length }
    let product = (Double(length) * density).rounded(.toNearestOrAwayFromZero)
    guard product <= Double(WireLimits.side.upperBound) else {
      throw .badRequest(
        "\"\(name)\" times \"dpr\" is \(Int(product)); it takes at most \(WireLimits.side.upperBound)", field: "dpr")
    }
    return Int(product)
  }
}

/// The encoding in which a picture is wanted: one of the protocol's, or whichever the client takes.
package enum WantedFormat: Hashable, Sendable {
  case named(OutputFormat)
  /// AVIF or WebP.
  case auto
}

extension WantedFormat: CaseIterable, RawRepresentable {
  package static let allCases = OutputFormat.allCases.map { WantedFormat.named($0) } + [.auto]

  /// The format of a word; `jpg` is one for JPEG.
  package init?(rawValue word: String) {
    switch word {
    case "auto": self = .auto
    case "jpg": self = .named(.jpeg)
    default:
      guard let format = OutputFormat(rawValue: word) else { return nil }
      self = .named(format)
    }
  }

  package var rawValue: String {
    switch self {
    case .named(let format): format.rawValue
    case .auto: "auto"
    }
  }
}
