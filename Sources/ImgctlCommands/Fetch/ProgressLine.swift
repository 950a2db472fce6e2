import ImgdConnection
import ImgdSystem

/// The line at the bottom of a terminal that shows the progress of a download.
struct ProgressLine {
  /// Moves to the beginning of the line and erases it.
  private static let erase = "\r\u{1B}[K"
  /// Short enough to fit on one line of a narrow terminal together with the numbers.
  private static let longestURL = 48

  let isShown: Bool
  private let console: Console
  private var isDirty = false

  init(_ console: Console, isWanted: Bool) {
    self.console = console
    isShown = isWanted && console.terminals.messages
  }

  /// Shows the numbers of a progress event for a URL.
  mutating func show(_ event: Reply, _ url: String) {
    guard isShown, event.event == "progress", let received = event.number("received") else {
      return
    }
    let text = Self.text(received: received, expected: event.number("expected"))
    console.message(Self.erase + text + " " + printable(url, longest: Self.longestURL))
    isDirty = true
  }

  /// Erases the line, so that permanent output can take its place.
  mutating func clear() {
    guard isDirty else { return }
    console.message(Self.erase)
    isDirty = false
  }

  static func text(received: Int, expected: Int?) -> String {
    guard let expected, expected > 0 else { return Quantity.size(received) }
    let percent = Int(Double(received) / Double(expected) * 100)
    return "\(percent)% of \(Quantity.size(expected))"
  }
}
