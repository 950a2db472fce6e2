import Glibc

/// Prints each row as it is measured, and keeps all of them for the record.
final class BenchReport {
  private let machine: MachineFacts
  private var rows: [(measurement: String, row: Row)] = []
  private var missing: [String] = []
  private var measurement = ""

  init(_ machine: MachineFacts) {
    self.machine = machine
  }

  func begin() {
    Output.say(machine.text)
    Output.say("")
    Output.say(Self.line("", "figure", "peer", "ratio", "spread", "budget", ""))
  }

  func begin(_ measurement: String, _ about: String) {
    self.measurement = measurement
    Output.say("\n\(measurement): \(about)")
  }

  func add(_ row: Row) {
    rows.append((measurement, row))
    Output.say(
      Self.line(
        "  " + row.what, row.figure.text, row.peer, decimal(row.ratios.median),
        row.ratios.spread, row.budget?.text ?? "", row.verdict))
  }

  /// Prints a measurement that was not possible: nothing is left out silently.
  func miss(_ what: String, _ why: String) {
    missing.append("\(measurement): \(what): \(why)")
    Output.say("  \(what): not measured: \(why)")
  }

  func note(_ text: String) {
    Output.say("  (\(text))")
  }

  func end() {
    let short = rows.count { $0.row.verdict == "SHORT" }
    let judged = rows.count { $0.row.budget != nil }
    Output.say("\n\(judged) budgets, \(short) short, \(missing.count) not measured")
  }

  private static func line(
    _ what: String, _ figure: String, _ peer: String, _ ratio: String, _ spread: String,
    _ budget: String, _ verdict: String
  ) -> String {
    [
      padded(what, 34), padded(figure, 11, toRight: true), "  ", padded(peer, 19),
      padded(ratio, 6, toRight: true), "  ", padded(spread, 13), padded(budget, 8), verdict,
    ].joined()
  }

  /// Pads to a width in characters; a longer text gets one space.
  private static func padded(_ text: String, _ width: Int, toRight: Bool = false) -> String {
    let space = String(repeating: " ", count: max(1, width - text.count))
    guard text.count < width else { return text + " " }
    return toRight ? space + text : text + space
  }

  /// One JSON object with all figures.
  var record: String {
    let figures = rows.map { Self.json($0.measurement, $0.row) }.joined(separator: ",\n  ")
    let missing = missing.map(quoted).joined(separator: ", ")
    return "{\(machine.json),\n \"missing\": [\(missing)],\n \"figures\": [\n  \(figures)\n]}\n"
  }

  private static func json(_ measurement: String, _ row: Row) -> String {
    var fields = [
      ("measurement", quoted(measurement)), ("what", quoted(row.what)),
      ("value", number(row.figure.value)), ("unit", quoted(row.figure.unit)),
      ("peer", quoted(row.peer)), ("ratio", number(row.ratios.median)),
      ("ratios", "[" + row.ratios.sorted.map(number).joined(separator: ", ") + "]"),
    ]
    if let budget = row.budget {
      fields += [("budget", quoted(budget.text)), ("verdict", quoted(row.verdict))]
    }
    return "{" + fields.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ") + "}"
  }

  private static func number(_ value: Double) -> String {
    value.isFinite ? "\(value)" : "null"
  }
}

/// Standard output and error, written line by line and unbuffered.
enum Output {
  static func say(_ line: String) { put(line, 1) }

  static func complain(_ line: String) { put(line, 2) }

  private static func put(_ line: String, _ descriptor: CInt) {
    let bytes = Array((line + "\n").utf8)
    // Errors are ignored: a closed terminal needs no report.
    _ = unsafe write(descriptor, bytes, bytes.count)
  }
}

/// A JSON string.
func quoted(_ text: String) -> String {
  let escaped = text.unicodeScalars.map { scalar in
    switch scalar {
    case "\"", "\\": "\\\(scalar)"
    case ..<" ": " "
    default: "\(scalar)"
    }
  }
  return "\"" + escaped.joined() + "\""
}
