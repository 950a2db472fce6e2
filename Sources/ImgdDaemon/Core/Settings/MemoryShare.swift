import ImgdCache

/// How much of its capacity the memory tier may use.
enum MemoryShare: Int {
  case whole = 1
  case half = 2
  case quarter = 4

  /// The next larger share, for a time without pressure.
  var grown: MemoryShare { self == .quarter ? .half : .whole }

  /// The share as a sentence names it.
  var words: String {
    switch self {
    case .whole: "all"
    case .half: "a half"
    case .quarter: "a quarter"
    }
  }
}

extension MemoryTier.Limits {
  /// The limits of a tier that may use only a share of its capacity.
  func held(to share: MemoryShare) -> MemoryTier.Limits {
    MemoryTier.Limits(capacity: capacity / share.rawValue, preferred: preferred / share.rawValue, maxEntry: maxEntry)
  }
}
