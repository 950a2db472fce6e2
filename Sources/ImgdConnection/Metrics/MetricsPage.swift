import ImgdSystem

/// The lines of an exposition.
package struct MetricsPage {
  private var lines: [String] = []

  /// What tells a number from the others of its metric.
  package typealias Labels = [(name: String, value: String)]

  package init() {}

  /// All lines, without a newline at the end.
  package var text: String { lines.joined(separator: "\n") }

  /// Adds a metric with its values; adds nothing if the daemon has none.
  package mutating func add(
    _ name: String, _ type: String, _ help: String, _ samples: [(labels: Labels, value: Double)]
  ) {
    guard !samples.isEmpty else { return }
    begin(name, type, help)
    for sample in samples { add(name, sample.labels, sample.value) }
  }

  mutating func begin(_ name: String, _ type: String, _ help: String) {
    lines += ["# HELP \(name) \(help).", "# TYPE \(name) \(type)"]
  }

  mutating func add(_ name: String, _ labels: Labels, _ value: Double) {
    let list = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ",")
    let number = Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    lines.append(name + (list.isEmpty ? "" : "{\(list)}") + " " + number)
  }

  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in printable(value).unicodeScalars {
      if scalar == "\\" || scalar == "\"" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text
  }
}
