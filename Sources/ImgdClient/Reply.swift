/// One line of the daemon's, read: the answer to a command, or an event on the way.
package struct Reply {
  private let members: [(name: String, value: AnswerValue)]

  /// Reads a line; what is no object does not come from imgd.
  package init(_ line: [UInt8], from path: String) throws(ConnectionProblem) {
    do throws(AnswerReader.Malformed) {
      members = try AnswerReader.object(line)
    } catch {
      throw .strange(path: path, what: "its answer is not JSON at byte \(error.position)")
    }
  }

  private init(members: [(name: String, value: AnswerValue)]) {
    self.members = members
  }

  /// The names of the fields, in the order in which they came.
  package var fields: [String] { members.map(\.name) }

  /// Whether the command went well; nil in an event, which ends nothing.
  package var succeeded: Bool? {
    guard case .boolean(let succeeded) = self["ok"] else { return nil }
    return succeeded
  }

  /// The number that the request carried.
  package var id: Int? { number("id") }

  /// What kind of news this is, where it is news.
  package var event: String? { text("event") }

  /// The stable name of what went wrong.
  package var errorCode: String? { object("error")?.text("code") }

  /// What went wrong, for people.
  package var errorMessage: String? { object("error")?.text("message") }

  /// A field that is a text.
  package func text(_ field: String) -> String? {
    guard case .text(let text) = self[field] else { return nil }
    return text
  }

  /// A field that is a whole number.
  package func number(_ field: String) -> Int? {
    guard case .number(let digits) = self[field] else { return nil }
    return Int(digits)
  }

  /// A field that is an object.
  package func object(_ field: String) -> Reply? {
    guard case .object(let members) = self[field] else { return nil }
    return Reply(members: members)
  }

  /// A field that is a list, with the objects in it.
  package func objects(_ field: String) -> [Reply]? {
    guard case .list(let items) = self[field] else { return nil }
    return items.compactMap { item in
      guard case .object(let members) = item else { return nil }
      return Reply(members: members)
    }
  }

  /// A field as people read it; a dash where there is nothing.
  package func display(_ field: String) -> String {
    self[field]?.display ?? "-"
  }

  private subscript(field: String) -> AnswerValue? {
    members.first { $0.name == field }?.value
  }
}

/// One value in an answer. A number stays as it was written: most are only shown.
enum AnswerValue {
  case null
  case boolean(Bool)
  case number(String)
  case text(String)
  case list([AnswerValue])
  case object([(name: String, value: AnswerValue)])

  var display: String {
    switch self {
    case .null: "-"
    case .boolean(let value): value ? "yes" : "no"
    case .number(let digits): digits
    case .text(let text): text
    case .list(let items): items.map(\.display).joined(separator: " ")
    case .object(let members):
      members.map { "\($0.name)=\($0.value.display)" }.joined(separator: " ")
    }
  }
}
