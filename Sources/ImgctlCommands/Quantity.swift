import Glibc
import ImgdSystem

/// Quantities as people read them.
enum Quantity {
  /// A size with two or three significant digits and a unit.
  static func size(_ bytes: Int) -> String {
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    return short(bytes, step: 1024, units: ["K", "M", "G", "T", "P", "E"])
  }

  /// A size in at most five characters.
  static func shortSize(_ bytes: Int) -> String { bytes < 1024 ? "\(max(bytes, 0))B" : size(bytes) }

  /// How often something happens, per second, in at most five characters.
  static func rate(_ perSecond: Double) -> String {
    guard perSecond > 0, perSecond.isFinite else { return "0" }
    if perSecond < 9.95 {
      let tenths = Int((perSecond * 10).rounded())
      return tenths == 0 ? "<0.1" : tenths % 10 == 0 ? "\(tenths / 10)" : decimal(tenths)
    }
    let whole = perSecond < 1e18 ? Int(perSecond.rounded()) : Int.max
    return whole < 10_000 ? "\(whole)" : short(whole, step: 1000, units: ["k", "m", "g", "t"])
  }

  /// The share of a part in a whole; nil when there is no whole.
  static func share(_ part: Int, of whole: Int) -> String? {
    guard whole > 0 else { return nil }
    let part = max(part, 0)
    let (thousandfold, overflow) = part.multipliedReportingOverflow(by: 1000)
    let tenths = overflow ? Double(part) / Double(whole) * 1000 : Double(thousandfold / whole)
    return decimal(Int(min(tenths, 9_999_999))) + "%"
  }

  /// A length of time in its one or two largest units.
  static func time(milliseconds: Int) -> String {
    if milliseconds < 1000 { return "\(max(milliseconds, 0))ms" }
    let seconds = milliseconds / 1000
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
    let first = units.firstIndex { seconds >= $0.0 } ?? units.count - 1
    let (length, name) = units[first]
    let start = "\(seconds / length)\(name)"
    guard first + 1 < units.count, seconds / length < 100 else { return start }
    let rest = seconds % length / units[first + 1].0
    return rest == 0 ? start : start + " \(rest)\(units[first + 1].1)"
  }

  /// A length of time in whole seconds, rounded up.
  static func time(roundedUp duration: Duration) -> String {
    time(seconds: Int((duration + .milliseconds(999)).components.seconds))
  }

  static func time(seconds: Int) -> String {
    guard seconds > 0 else { return "0s" }
    let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    return time(milliseconds: overflow ? .max : milliseconds)
  }

  /// A very short time, given in microseconds.
  static func time(microseconds: Double) -> String {
    guard microseconds < 1000 else {
      return microseconds < 1e6
        ? decimal(Int(microseconds / 100)) + "ms" : decimal(Int(min(microseconds, 1e15) / 1e5)) + "s"
    }
    return "\(Int(max(microseconds, 0).rounded()))µs"
  }

  private static func short(_ number: Int, step: Int, units: [String]) -> String {
    var tenths = number / step * 10 + number % step * 10 / step
    var units = units[...]
    while tenths >= step * 10, units.count > 1 {
      tenths /= step
      units.removeFirst()
    }
    return (tenths < 100 ? decimal(tenths) : "\(tenths / 10)") + (units.first ?? "")
  }

  private static func decimal(_ tenths: Int) -> String { "\(tenths / 10).\(tenths % 10)" }
}

/// A time of day in the time zone of the person who reads it.
struct LocalTime {
  /// The time alone, as in `09:05:00`.
  let text: String
  /// The date and the time, as in `2026-11-23 09:05:00`.
  let withDate: String

  static var now: LocalTime { LocalTime(secondsSince1970: WallClock.seconds) }

  init(secondsSince1970 seconds: Int64) {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // Reads `moment` and fills `parts`, both on this stack; the name of the zone is not looked at.
    unsafe localtime_r(&moment, &parts)
    let time = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
    let date = unsafe [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
    text = time.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    withDate = date.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-") + " " + text
  }
}
