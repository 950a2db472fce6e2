import ImgdClient
import ImgdSystem

/// The line at the bottom of a terminal that says how far a picture has come.
struct ProgressLine {
  /// Returns to the line's beginning and removes what is there.
  private static let erase = "\r\u{1B}[K"
  /// With the numbers it stays on one line of a narrow terminal.
  private static let longestURL = 48

  let isShown: Bool
  private let console: Console
  private var isDirty = false

  init(_ console: Console, isWanted: Bool) {
    self.console = console
    isShown = isWanted && console.messagesGoToTerminal
  }

  /// Shows what an event says about one URL.
  mutating func show(_ event: Reply, _ url: String) {
    guard isShown, event.event == "progress", let received = event.number("received") else {
      return
    }
    let text = Self.text(received: received, expected: event.number("expected"))
    console.message(Self.erase + text + " " + printable(url, longest: Self.longestURL))
    isDirty = true
  }

  /// Makes room for a line that stays.
  mutating func clear() {
    guard isDirty else { return }
    console.message(Self.erase)
    isDirty = false
  }

  static func text(received: Int, expected: Int?) -> String {
    guard let expected, expected > 0 else { return Report.roughly(received) }
    let percent = Int(Double(received) / Double(expected) * 100)
    return "\(percent)% of \(Report.roughly(expected))"
  }
}
