internal import ImgdText
internal import ImgdWire

/// Which part of a picture is kept, in the words of imgproxy.
enum Gravity: Equatable {
  /// A place along each side, from 0 to 1, and how far from there: in pixels, or below 1 in fractions of the side.
  case place(x: Double, y: Double, right: Double, down: Double)
  case attention
  case point(x: Double, y: Double)

  static let middle = place(x: 0.5, y: 0.5, right: 0, down: 0)
  static let wanted = "it takes ce, no, so, ea, we, noea, nowe, soea, sowe, sm, or fp:x:y with fractions of the sides"

  private static let places: [Substring: (x: Double, y: Double)] = [
    "ce": (0.5, 0.5), "no": (0.5, 0), "so": (0.5, 1), "we": (0, 0.5), "ea": (1, 0.5), "nowe": (0, 0), "noea": (1, 0),
    "sowe": (0, 1), "soea": (1, 1),
  ]

  /// Reads the arguments from a place on; nil if none is left.
  init?(_ arguments: OptionArguments, from first: Int) throws(GatewayError) {
    let parts = arguments.parts.dropFirst(first)
    guard let word = parts.first, !parts.allSatisfy({ $0.isEmpty }) else { return nil }
    let offsets = try [1, 2].map { (place) throws(GatewayError) in
      try arguments.value(first + place, "offset")?.decimal("a number that is not negative")
    }
    if word == "sm", parts.count == 1 {
      self = .attention
    } else if word == "fp", parts.count == 3, let x = offsets[0], let y = offsets[1], x <= 1, y <= 1 {
      self = .point(x: x, y: y)
    } else if let place = Self.places[word], parts.count <= 3 {
      self = .place(x: place.x, y: place.y, right: offsets[0] ?? 0, down: offsets[1] ?? 0)
    } else {
      throw arguments.refusal("has the gravity \"\(Excerpt.of(parts.joined(separator: ":")))\"; \(Self.wanted)")
    }
  }

  /// What is kept, where it depends on the picture alone.
  func crop(in arguments: OptionArguments) throws(GatewayError) -> PictureForm.Crop {
    guard let crop else { throw arguments.refusal("has an offset; only that of \"crop\" may have one") }
    return crop
  }

  /// Nil with an offset.
  var crop: PictureForm.Crop? {
    switch self {
    case .place(0.5, 0.5, 0, 0): .centre
    case .place(let x, let y, 0, 0), .point(let x, let y): .point(x: Fraction(x), y: Fraction(y))
    case .attention: .attention
    case .place: nil
    }
  }
}

/// The part that is cut out first: its sides in pixels, in fractions of the picture's sides below 1, or 0 for the whole.
struct PathCrop: Equatable, Sendable {
  let width: Double
  let height: Double
  /// Nil for that of the whole target.
  let gravity: Gravity?

  /// Nil for the whole picture; `usual` is what the target says elsewhere.
  func area(around usual: PictureForm.Crop) throws(GatewayError) -> PictureForm.Area? {
    guard width > 0 || height > 0 else { return nil }
    let sides = [width, height]
    if sides.allSatisfy({ $0 < 1 }) { return try fractions(around: usual) }
    guard sides.allSatisfy({ $0 == 0 || $0 >= 1 }) else {
      throw Self.wrong("its width and height are both pixels, or both fractions below 1")
    }
    // What is beyond the picture is left off.
    let pixels = sides.map { $0 == 0 ? WireLimits.side.upperBound : Int($0) }
    guard let gravity else { return .around(usual, width: pixels[0], height: pixels[1]) }
    if let crop = gravity.crop { return .around(crop, width: pixels[0], height: pixels[1]) }
    guard case .place(0, 0, let right, let down) = gravity, [right, down].allSatisfy({ $0 == 0 || $0 >= 1 }) else {
      throw Self.wrong("pixels have an offset in pixels, and only with nowe")
    }
    return .pixels(x: Int(right), y: Int(down), width: pixels[0], height: pixels[1])
  }

  private func fractions(around usual: PictureForm.Crop) throws(GatewayError) -> PictureForm.Area {
    let (wide, high) = (width == 0 ? 1 : width, height == 0 ? 1 : height)
    let corner: (x: Double, y: Double)
    switch gravity ?? Gravity(usual) {
    case .place(let x, let y, let right, let down):
      guard right < 1, down < 1 else { throw Self.wrong("fractions have an offset below 1") }
      corner = (x * (1 - wide) + (x == 1 ? -right : right), y * (1 - high) + (y == 1 ? -down : down))
    case .point(let x, let y): corner = (x - wide / 2, y - high / 2)
    case .attention: throw Self.wrong("with sm its width and height are pixels")
    }
    return .fractions(
      x: Fraction(min(max(corner.x, 0), 1 - wide)), y: Fraction(min(max(corner.y, 0), 1 - high)),
      width: Fraction(wide), height: Fraction(high))
  }

  private static func wrong(_ rule: String) -> GatewayError {
    .badRequest("the option \"crop\" cannot be followed: \(rule)", field: "crop")
  }
}

extension Gravity {
  fileprivate init(_ crop: PictureForm.Crop) {
    switch crop {
    case .centre: self = .middle
    case .attention: self = .attention
    case .point(let x, let y): self = .point(x: Double(x.millionths) / 1e6, y: Double(y.millionths) / 1e6)
    }
  }
}
