import ImgdSystem
import ImgdWire

/// The outcome of one check of `imgctl doctor`.
struct Finding: Equatable {
  /// How good or bad it is.
  enum Grade: String {
    case ok
    /// Worth knowing, and perhaps intended.
    case note
    case problem
  }

  let grade: Grade
  let subject: String
  /// One line, or several.
  let text: String
  /// The thing to do about it, for all but good news.
  let remedy: String?

  private init(_ grade: Grade, _ subject: String, _ text: String, _ remedy: String?) {
    self.grade = grade
    self.subject = subject
    self.text = text.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }.joined(
      separator: "\n")
    self.remedy = remedy.map { printable($0) }
  }

  static func ok(_ subject: String, _ text: String) -> Finding { Finding(.ok, subject, text, nil) }

  static func note(_ subject: String, _ text: String, remedy: String? = nil) -> Finding {
    Finding(.note, subject, text, remedy)
  }

  static func problem(_ subject: String, _ text: String, remedy: String) -> Finding {
    Finding(.problem, subject, text, remedy)
  }

  /// The finding as a line of JSON.
  var json: String {
    var line = JSONWriter()
    line.beginObject()
    line.field("check", subject)
    line.field("grade", grade.rawValue)
    line.field("text", text)
    if let remedy { line.field("remedy", remedy) }
    line.endObject()
    return String(decoding: line.bytes, as: UTF8.self)
  }

  /// The finding as people read it, with its remedy on a line of its own.
  func lines(_ palette: Palette) -> String {
    let margin = String(repeating: " ", count: 23)
    let first = palette(grade.rawValue.padded(to: 8), style) + " " + subject.padded(to: 13) + " "
    return first + text.split(separator: "\n").joined(separator: "\n" + margin)
      + (remedy.map { "\n" + margin + "→ " + $0 } ?? "")
  }

  private var style: Style {
    switch grade {
    case .ok: .good
    case .note: .doubtful
    case .problem: .bad
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
