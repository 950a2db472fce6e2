import ImgdWire

@testable import ImgdGateway

/// The request of a target that is one of a picture, with every host open.
func picture(_ target: String, presets: [Preset] = []) throws(GatewayError) -> PictureRequest? {
  let access = PictureAccess(allow: ["*"], keys: .none, presets: presets, onlyPresets: false)
  guard let parsed = try PictureTarget.parse(target) else { return nil }
  return try access.admit(parsed, now: 0)
}

/// The refusal of a target; nil if it was taken, or is not one of a picture.
func refusal(of target: String, presets: [Preset] = []) -> GatewayError? {
  do throws(GatewayError) {
    _ = try picture(target, presets: presets)
    return nil
  } catch {
    return error
  }
}

/// A request for the cat of the tests.
func cat(_ change: (inout PictureRequest) -> Void = { _ in }) -> PictureRequest {
  var request = PictureRequest(url: "https://pictures.example/cat.jpg")
  change(&request)
  return request
}

/// The parts of the form by themselves, for tables of targets.
extension PictureRequest {
  var box: PictureForm.Box {
    get { form.box ?? PictureForm.Box(width: nil, height: nil) }
    set { form.box = newValue }
  }

  var width: Int? {
    get { box.width }
    set { box.width = newValue }
  }

  var height: Int? {
    get { box.height }
    set { box.height = newValue }
  }

  var fit: PictureForm.Fit {
    get { box.fit }
    set { box.fit = newValue }
  }

  var crop: PictureForm.Crop {
    get { box.crop }
    set { box.crop = newValue }
  }

  var area: PictureForm.Area? {
    get { box.area }
    set { box.area = newValue }
  }

  var background: PictureForm.Background? {
    get { box.background }
    set { box.background = newValue }
  }

  var enlarge: Bool {
    get { box.enlarge }
    set { box.enlarge = newValue }
  }

  var quality: Int? {
    get { form.quality }
    set { form.quality = newValue }
  }

  var mostBytes: Int? {
    get { form.mostBytes }
    set { form.mostBytes = newValue }
  }

  var format: WantedFormat {
    get { negotiatesFormat ? .auto : .named(form.formats[0]) }
    set {
      negotiatesFormat = newValue == .auto
      if case .named(let format) = newValue { form.formats = [format] }
    }
  }
}

/// A point that a crop keeps.
func point(_ x: Double, _ y: Double) -> PictureForm.Crop {
  .point(x: Fraction(x), y: Fraction(y))
}

extension WantedFormat {
  static let original = named(.original)
  static let jpeg = named(.jpeg)
  static let png = named(.png)
  static let webp = named(.webp)
  static let avif = named(.avif)
}
