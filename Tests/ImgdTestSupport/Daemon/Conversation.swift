// A conversation with a daemon, written as on the wire.
//
// A line after `> ` is sent with a newline; consecutive requests are sent in one write. A line after
// `< ` is expected, in that order, before the next request is sent: an object must have the keys that
// are shown, and may have others; an array must have as many elements, each as shown; "…" matches any
// value. Events are skipped where another line is expected. Lines that begin with `#` and empty lines
// are comments.

import ImgdWire

package struct Conversation: Sendable {
  package enum Step: Sendable, Equatable {
    case say([String])
    case hear(String)
  }

  package let steps: [Step]

  package init(_ text: String) {
    var steps: [Step] = []
    var said: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let line = line.drop { $0 == " " }
      if line == ">" || line.hasPrefix("> ") {
        said.append(String(line.dropFirst(2)))
      } else {
        if !said.isEmpty { steps.append(.say(said)) }
        said = []
        if line.hasPrefix("< ") { steps.append(.hear(String(line.dropFirst(2)))) }
      }
    }
    self.steps = said.isEmpty ? steps : steps + [.say(said)]
  }
}

extension TestClient {
  /// Plays the conversation; `ORIGIN` in it is the base URL of the test's origin. Returns the received
  /// line for each expected one.
  @discardableResult
  package func play(_ text: String, origin: String = "") throws -> [JSONValue] {
    var heard: [JSONValue] = []
    for step in Conversation(text).steps {
      switch step {
      case .say(let lines):
        try sendRaw(Array((lines.joined(separator: "\n") + "\n").in(origin).utf8))
      case .hear(let line):
        heard.append(try hear(line.in(origin)))
      }
    }
    return heard
  }

  private func receive(wanting shown: String) throws -> JSONValue {
    do {
      return try receive()
    } catch let failure as TestFailure {
      throw TestFailure("\(failure)\n  wanted \(shown)")
    }
  }

  /// Receives lines until one matches, skipping events.
  private func hear(_ shown: String) throws -> JSONValue {
    guard let wanted = try? JSONValue(parsing: shown) else {
      throw TestFailure("the example is not JSON: \(shown)")
    }
    while true {
      let line = try receive(wanting: shown)
      guard let difference = line.difference(from: wanted) else { return line }
      if line["event"] == nil {
        throw TestFailure("\(difference)\n  wanted \(shown)\n  heard  \(line.text)")
      }
    }
  }
}

extension String {
  fileprivate func `in`(_ origin: String) -> String {
    split(separator: "ORIGIN", omittingEmptySubsequences: false).joined(separator: origin)
  }
}

extension JSONValue {
  /// The first difference to the expected value; nil when it matches.
  package func difference(from shown: JSONValue, at place: String = "the line") -> String? {
    switch (self, shown) {
    case (_, .string("…")): return nil
    case (.object, .object(let members)):
      for member in members {
        guard let value = self[member.name] else { return "\(place) has no \(member.name)" }
        let difference = value.difference(from: member.value, at: member.name)
        if let difference { return difference }
      }
      return nil
    case (.array(let elements), .array(let wanted)):
      guard elements.count == wanted.count else {
        return "\(place) has \(elements.count) elements instead of \(wanted.count)"
      }
      for (index, pair) in zip(elements, wanted).enumerated() {
        let difference = pair.0.difference(from: pair.1, at: "\(place)[\(index)]")
        if let difference { return difference }
      }
      return nil
    default: return self == shown ? nil : "\(place) is \(text) instead of \(shown.text)"
    }
  }

  /// As JSON, for messages.
  package var text: String { encoded() }
}
