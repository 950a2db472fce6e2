import ImgdSystem
import ImgdWire

/// How a run writes down what became of each picture.
enum RecordStyle {
  case nothing
  /// A path or a description, followed by the subject if the records are listed.
  case text(isListed: Bool, end: UInt8)
  /// The daemon's answer, with the subject under this name.
  case json(subject: String)

  var isJSON: Bool { if case .json = self { true } else { false } }

  /// The record of a picture that is in a file, or in none.
  func success(_ order: FetchOrder, _ answer: Answer?, text: String, file: String? = nil, isSkipped: Bool = false)
    -> Record?
  {
    switch self {
    case .nothing: return nil
    case .text(let isListed, let end):
      guard isListed else { return .line(Array(text.utf8) + [end]) }
      let subject = withoutPasswords(order.subject)
      // The subject must not end the line early, nor hold anything that a terminal obeys.
      let shown = end == 0 ? subject : printable(subject)
      return .line(Array((text + "\t" + shown).utf8) + [end])
    case .json(let subject):
      var line = JSONRecord(answer, order, subject: subject)
      line.set("file", file.map(JSONValue.string))
      line.set("skipped", isSkipped ? .bool(true) : nil)
      return .line(line.bytes)
    }
  }

  /// The record of a failure: the daemon's, or one that imgctl itself has found.
  func failure(_ order: FetchOrder, _ answer: Answer?, own: (code: String, message: String)? = nil) -> Record? {
    guard case .json(let subject) = self else { return nil }
    var line = JSONRecord(answer, order, subject: subject)
    if let own {
      line.set("ok", .bool(false))
      line.set(
        "error",
        .object([
          JSONValue.Member("code", .string(own.code)),
          JSONValue.Member("message", .string(own.message)),
          JSONValue.Member("retryable", .bool(false)),
        ]))
    }
    return .line(line.bytes)
  }

  /// The record of an event before the answer.
  func event(_ order: FetchOrder, _ event: Answer) -> Record? {
    guard case .json(let subject) = self else { return nil }
    return .line(JSONRecord(event, order, subject: subject).bytes)
  }
}
