/// How a picture covers a size for which it has to be enlarged.
///
/// What overflows is cut off before enlarging, not afterwards: when a wide picture covers a tall box, hardly any of
/// it is seen, and the whole of it, enlarged, might have a thousand times as many pixels as are wanted.
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

  /// The size of the part that is cut out of the picture.
  var part: Size { Size(width: across.count, height: down.count) }

  /// The size of that part when it is enlarged.
  var enlarged: Size { Size(width: across.enlarged, height: down.enlarged) }

  /// Where the part begins in the picture, and where the wanted area begins in the enlarged part. Without `place`,
  /// the middle of the picture is seen.
  func corners(seenFrom place: Corner?) -> (part: Corner, wanted: Corner) {
    let left = across.starts(seenFrom: place?.left)
    let top = down.starts(seenFrom: place?.top)
    return (Corner(left: left.part, top: top.part), Corner(left: left.wanted, top: top.wanted))
  }
}

/// The place of a part in a picture.
struct Corner {
  let left: Int
  let top: Int
}

/// A side of a picture, of which a part is enlarged to cover a length.
private struct CoveredSide {
  /// Pixels beside those that are seen, which are mixed into the outermost ones.
  private static let margin = 2

  private let own: Int
  private let wanted: Int
  private let factor: Double

  init(own: Int, wanted: Int, factor: Double) {
    self.own = own
    self.wanted = wanted
    self.factor = factor
  }

  private var seen: Double { min(Double(own), Double(wanted) / factor) }

  var mostSeen: Int { min(own, Int(seen.rounded(.up))) }

  var count: Int { min(own, mostSeen + 1 + 2 * Self.margin) }

  var enlarged: Int { max(wanted, Int((Double(count) * factor).rounded())) }

  func starts(seenFrom place: Int?) -> (part: Int, wanted: Int) {
    let last = Double(own) - seen
    let first = place.map { min(max(0, Double($0)), last) } ?? last / 2
    let part = min(max(0, Int(first) - Self.margin), own - count)
    let inside = Int(((first - Double(part)) * factor).rounded())
    return (part, min(max(0, inside), enlarged - wanted))
  }
}
