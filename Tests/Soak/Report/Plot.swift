import Glibc

/// Lines over time, one panel below another, as SVG.
struct Plot {
  struct Line {
    let name: String
    let colour: String
    /// By seconds.
    let points: [(x: Double, y: Double)]
  }

  struct Panel {
    let title: String
    let isLogarithmic: Bool
    let lines: [Line]
  }

  let panels: [Panel]

  private static let (width, height, left, top, gap) = (760.0, 150.0, 70.0, 30.0, 50.0)

  var svg: String {
    let whole = Self.top + Double(panels.count) * (Self.height + Self.gap)
    let parts = panels.enumerated().map { number, panel in
      draw(panel, at: Self.top + Double(number) * (Self.height + Self.gap))
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Int(Self.width + Self.left + 30))" height="\(Int(whole))" \
      font-family="sans-serif" font-size="12">
      <rect width="100%" height="100%" fill="white"/>
      \(parts.joined(separator: "\n"))
      </svg>

      """
  }

  private func draw(_ panel: Panel, at y: Double) -> String {
    let points = panel.lines.flatMap(\.points)
    let end = max(points.map(\.x).max() ?? 1, 1)
    let scale = Scale(points.map(\.y), isLogarithmic: panel.isLogarithmic)
    var parts = ["<text x=\"\(Self.left)\" y=\"\(y - 8)\" font-weight=\"bold\">\(panel.title)</text>"]
    for mark in scale.marks {
      let place = y + Self.height * (1 - scale.place(of: mark))
      parts.append(
        """
        <path d="M\(Self.left) \(text(place))H\(Self.left + Self.width)" stroke="#ddd"/>\
        <text x="\(Self.left - 6)" y="\(text(place + 4))" text-anchor="end">\(text(mark))</text>
        """)
    }
    for part in 0...4 {
      let minutes = end / 60 * Double(part) / 4
      let place = Self.left + Self.width * Double(part) / 4
      parts.append(
        "<text x=\"\(place)\" y=\"\(y + Self.height + 16)\" text-anchor=\"middle\">\(text(minutes)) min</text>")
    }
    for (number, line) in panel.lines.enumerated() {
      let path = line.points.map { point in
        text(Self.left + Self.width * point.x / end) + " " + text(y + Self.height * (1 - scale.place(of: point.y)))
      }
      parts.append("<polyline points=\"\(path.joined(separator: ","))\" fill=\"none\" stroke=\"\(line.colour)\"/>")
      let place = Self.left + Self.width - 180 * Double(number)
      parts.append(
        "<text x=\"\(place)\" y=\"\(y - 8)\" text-anchor=\"end\" fill=\"\(line.colour)\">\(line.name)</text>")
    }
    return parts.joined(separator: "\n")
  }

  /// A number with one digit behind the point, where there is one.
  private func text(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? String(tenths / 10) : "\(tenths / 10).\(abs(tenths) % 10)"
  }
}

/// Where a value lies between the bottom and the top of a panel.
private struct Scale {
  private let isLogarithmic: Bool
  private let (lowest, highest): (Double, Double)

  init(_ values: [Double], isLogarithmic: Bool) {
    self.isLogarithmic = isLogarithmic
    let top = values.max() ?? 1
    if isLogarithmic {
      lowest = 1
      var power = 10.0
      while power < top { power *= 10 }
      highest = power
    } else {
      lowest = 0
      highest = max(top * 1.1, 1)
    }
  }

  var marks: [Double] {
    guard isLogarithmic else { return (0...4).map { highest * Double($0) / 4 } }
    return Array(sequence(first: lowest) { $0 < highest ? $0 * 10 : nil })
  }

  func place(of value: Double) -> Double {
    isLogarithmic
      ? log10(max(value, lowest)) / log10(highest) : (value - lowest) / (highest - lowest)
  }
}
