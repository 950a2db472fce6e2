/// How a picture covers a size for which it has to be enlarged. What overflows is cut off before enlarging, not
/// afterwards: when a wide picture covers a tall box, hardly any of it is seen, and the whole of it, enlarged, might
/// have a thousand times as many pixels as are wanted.
struct EnlargedCover {
  private let across: CoveredSide
  private let down: CoveredSide

  /// Nil for a picture that is large enough.
  init?(of own: Size, wanted: Size) {
    let factor = max(Double(wanted.width) / Double(own.width), Double(wanted.height) / Double(own.height))
    guard factor > 1 else { return nil }
    across = CoveredSide(own: own.width, wanted: wanted.width, factor: factor)
    down = CoveredSide(own: own.height, wanted: wanted.height, factor: factor)
  }

  /// The size of what is seen of the picture, in whole pixels.
  var seen: Size { Size(width: across.mostSeen, height: down.mostSeen) }

  var part: Size { Size(width: across.count, height: down.count) }

  var enlarged: Size { Size(width: across.enlarged, height: down.enlarged) }

  /// Where the part begins in the picture, and where the wanted area begins in the enlarged part.
  func corners(seenFrom place: Corner) -> (part: Corner, wanted: Corner) {
    corners(across.starts(seenFrom: Double(place.left)), down.starts(seenFrom: Double(place.top)))
  }

  /// The same for a point, in fractions of the sides, that is as near to the middle of what is seen as can be.
  func corners(around point: (x: Double, y: Double)) -> (part: Corner, wanted: Corner) {
    corners(across.starts(around: point.x), down.starts(around: point.y))
  }

  private func corners(_ left: (part: Int, wanted: Int), _ top: (part: Int, wanted: Int)) -> (
    part: Corner, wanted: Corner
  ) { (Corner(left: left.part, top: top.part), Corner(left: left.wanted, top: top.wanted)) }
}

/// A side of a picture, of which a part is enlarged to cover a length.
private struct CoveredSide {
  /// Pixels beside those that are seen, which are mixed into the outermost ones.
  private static let margin = 2

  let own: Int
  let wanted: Int
  let factor: Double

  private var seen: Double { min(Double(own), Double(wanted) / factor) }

  var mostSeen: Int { min(own, Int(seen.rounded(.up))) }

  var count: Int { min(own, mostSeen + 1 + 2 * Self.margin) }

  var enlarged: Int { max(wanted, Int((Double(count) * factor).rounded())) }

  func starts(around point: Double) -> (part: Int, wanted: Int) { starts(seenFrom: point * Double(own) - seen / 2) }

  func starts(seenFrom place: Double) -> (part: Int, wanted: Int) {
    let first = min(max(0, place), Double(own) - seen)
    let part = min(max(0, Int(first) - Self.margin), own - count)
    let inside = Int(((first - Double(part)) * factor).rounded())
    return (part, min(max(0, inside), enlarged - wanted))
  }
}
