/// One line of the report: a figure, and its ratio to a peer's.
struct Row {
  let what: String
  let figure: Figure
  let peer: String
  let ratios: Ratios
  var budget: Budget?

  var verdict: String {
    guard let budget else { return "" }
    return budget.isMet(by: ratios.median) ? "ok" : "SHORT"
  }
}

/// The required range of a ratio.
enum Budget {
  case atLeast(Double)
  case atMost(Double)

  func isMet(by ratio: Double) -> Bool {
    switch self {
    case .atLeast(let least): ratio >= least
    case .atMost(let most): ratio <= most
    }
  }

  var text: String {
    switch self {
    case .atLeast(let least): "≥ " + decimal(least)
    case .atMost(let most): "≤ " + decimal(most)
    }
  }
}

/// A number with its unit.
struct Figure {
  let value: Double
  let unit: String

  init(_ value: Double, _ unit: String) {
    self.value = value
    self.unit = unit
  }

  /// Three digits, with k and M, or m and µ.
  var text: String {
    for (step, name) in [(1e6, "M"), (1e3, "k")] where value >= step {
      return "\(decimal(value / step)) \(name)\(unit)"
    }
    guard unit == "s", value > 0 else { return "\(decimal(value)) \(unit)" }
    for (step, name) in [(1.0, ""), (1e-3, "m"), (1e-6, "µ")] where value >= step {
      return "\(decimal(value / step)) \(name)s"
    }
    return "\(decimal(value * 1e9)) ns"
  }
}

/// The ratios of all rounds.
struct Ratios {
  let sorted: [Double]

  init(_ ratios: [Double]) {
    sorted = ratios.sorted()
  }

  /// Each round's own figure against the peer's of the same round.
  init(_ own: [Double], to peer: [Double]) {
    self.init(zip(own, peer).map { $0 / $1 })
  }

  var median: Double { imgd_bench.median(sorted) }

  var spread: String {
    guard let first = sorted.first, let last = sorted.last, sorted.count > 1 else { return "" }
    return "\(decimal(first))–\(decimal(last))"
  }
}

func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  guard !sorted.isEmpty else { return .nan }
  let middle = sorted.count / 2
  return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/// Three significant digits, or the whole number where there are more before the point.
func decimal(_ value: Double) -> String {
  guard value.isFinite, abs(value) < 1e15 else { return "–" }
  let places = abs(value) >= 100 ? 1.0 : abs(value) >= 10 ? 10.0 : 100.0
  let rounded = (value * places).rounded() / places
  return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
}
