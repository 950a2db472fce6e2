internal import ImgdWire

/// What a target says about the form of a picture; nil where it says nothing.
package struct PictureForm: Equatable, Sendable {
  package var width: Int?
  package var height: Int?
  package var fit: PictureRequest.Fit?
  package var crop: PictureRequest.Crop?
  package var enlarge: Bool?
  package var format: PictureRequest.Format?
  package var quality: Int?
  /// Pixels of the screen for each of its own: both sides are multiplied by it.
  package var density: Double?

  /// With what a preset says where the target says nothing.
  func completed(by preset: Preset) -> PictureForm {
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
    request.width = try side(width, "width")
    request.height = try side(height, "height")
    request.fit = try fit(width, height)
    if request.fit == .cover { request.crop = crop ?? .centre }
    if width != nil || height != nil { request.enlarge = enlarge ?? false }
    request.format = format ?? .original
    request.quality = quality
    return request
  }

  private func side(_ length: Int?, _ name: String) throws(GatewayError) -> Int? {
    guard let length, let density else { return length }
    let product = (Double(length) * density).rounded(.toNearestOrAwayFromZero)
    guard product <= Double(WireLimits.side.upperBound) else {
      throw GatewayError(
        400, "bad_request",
        "\"\(name)\" times \"dpr\" is \(Int(product)); it takes at most \(WireLimits.side.upperBound)",
        field: "dpr")
    }
    return Int(product)
  }

  private func fit(_ width: Int?, _ height: Int?) throws(GatewayError) -> PictureRequest.Fit {
    guard let fit, fit != .contain else { return .contain }
    guard width != nil, height != nil else {
      throw GatewayError(
        400, "bad_request", "\"fit\" is \"\(fit.rawValue)\", which takes both a width and a height",
        field: "fit")
    }
    return fit
  }
}
