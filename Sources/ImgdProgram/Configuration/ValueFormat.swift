import Glibc
internal import ImgdSystem
internal import ImgdText

/// The text form of a key's values; `parse` and `text` are inverses of each other.
package struct ValueFormat<Value>: Sendable {
  package let parse: @Sendable (String) throws(WrongValue) -> Value
  package let text: @Sendable (Value) -> String

  package init(
    parse: @escaping @Sendable (String) throws(WrongValue) -> Value, text: @escaping @Sendable (Value) -> String
  ) {
    self.parse = parse
    self.text = text
  }
}

/// The reason why a text is not valid; in a message it follows `Section.Key=text`.
package struct WrongValue: Error {
  package let complaint: String

  package init(_ complaint: String) { self.complaint = complaint }
}

extension ValueFormat where Value == Int {
  /// Bytes within limits.
  package static func size(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue("is not a size: write bytes or a number with K, M or G, such as 100M")
      }
      return try checked(bytes, in: limits, "size") { SizeText.text($0) }
    } text: {
      SizeText.text($0)
    }
  }

  /// A count within limits.
  package static func count(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard let number = decimalNumber(text.utf8) else {
        throw WrongValue("is not a number: write \(limits.lowerBound) to \(limits.upperBound)")
      }
      return try checked(number, in: limits, "number") { String($0) }
    } text: {
      String($0)
    }
  }

  /// A percentage within limits, written with a percent sign.
  package static func percentage(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard text.hasSuffix("%"), let number = decimalNumber(text.utf8.dropLast()) else {
        throw WrongValue("is not a percentage: write a number with %, such as 10%")
      }
      return try checked(number, in: limits, "percentage") { "\($0)%" }
    } text: {
      "\($0)%"
    }
  }
}

extension ValueFormat where Value == Duration {
  /// A duration within limits, or `off` for zero.
  package static func durationOrOff(_ limits: ClosedRange<Duration>) -> Self {
    Self { text throws(WrongValue) in
      if text.lowercased() == "off" { return .zero }
      guard DurationText.duration(text) != nil else {
        throw WrongValue("is neither off nor a duration: write off, or one such as 1h or 7d")
      }
      return try duration(limits).parse(text)
    } text: {
      $0 == .zero ? "off" : duration(limits).text($0)
    }
  }

  /// A duration within limits.
  package static func duration(_ limits: ClosedRange<Duration>) -> Self {
    Self { text throws(WrongValue) in
      guard let duration = DurationText.duration(text) else {
        throw WrongValue("is not a duration: write one such as 500ms, 30s, 1h 30min or 7d")
      }
      return try checked(duration, in: limits, "duration") { DurationText.text($0) }
    } text: {
      DurationText.text($0)
    }
  }
}

extension ValueFormat where Value == Bool {
  /// Yes or no, in any spelling of systemd.syntax(7).
  package static var boolean: Self {
    Self { text throws(WrongValue) in
      switch text.lowercased() {
      case "yes", "true", "on", "1": return true
      case "no", "false", "off", "0": return false
      default: throw WrongValue("is neither yes nor no: write yes or no")
      }
    } text: {
      $0 ? "yes" : "no"
    }
  }
}

private func checked<Value: Comparable>(
  _ value: Value, in limits: ClosedRange<Value>, _ kind: String, text: (Value) -> String
) throws(WrongValue) -> Value {
  guard limits.contains(value) else {
    throw WrongValue("is out of range: write a \(kind) from \(text(limits.lowerBound)) to \(text(limits.upperBound))")
  }
  return value
}

extension ValueFormat where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
  /// One of the words of an enumeration.
  package static var word: Self {
    Self { text throws(WrongValue) in
      if let value = Value(rawValue: text) { return value }
      throw WrongValue("is not valid: write \(alternatives(Value.allCases.map(\.rawValue)))")
    } text: {
      $0.rawValue
    }
  }

  /// Several of these words, separated by blanks or commas; duplicates count once.
  package static var words: ValueFormat<[Value]> {
    ValueFormat<[Value]> { text throws(WrongValue) in
      var values: [Value] = []
      for item in items(of: text) {
        guard let value = Value(rawValue: item) else {
          let all = Value.allCases.map(\.rawValue)
          throw WrongValue("contains '\(shown(item))': \(suggestion(for: item, among: all))")
        }
        if !values.contains(where: { $0.rawValue == item }) { values.append(value) }
      }
      return values
    } text: {
      $0.map(\.rawValue).joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == String {
  /// An absolute path of limited length.
  package static func path(longest: Int) -> Self {
    Self { text throws(WrongValue) in
      guard text.hasPrefix("/") else { throw WrongValue("is not an absolute path: begin with /") }
      return try plain(text, longest: longest)
    } text: {
      $0
    }
  }

  /// A text of limited length that a file can hold.
  package static func plain(_ text: String, longest: Int) throws(WrongValue) -> String {
    guard text.utf8.count <= longest else { throw WrongValue("is too long: write at most \(longest) bytes") }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw WrongValue("contains a control character: leave it out")
    }
    // In a file a backslash at the end would continue the line.
    guard !text.hasSuffix("\\") else { throw WrongValue("ends in a backslash: leave it out") }
    return text
  }
}

extension ValueFormat where Value == [String] {
  /// Words, separated by blanks or commas; `complaint` says what is wrong with one, if anything is.
  package static func words(
    inLowerCase: Bool = false, _ complaint: @escaping @Sendable (String) -> String?
  ) -> Self {
    Self { text throws(WrongValue) in
      let words = items(of: inLowerCase ? text.lowercased() : text)
      for word in words {
        if let complaint = complaint(word) { throw WrongValue("contains '\(shown(word))', \(complaint)") }
      }
      return words
    } text: {
      $0.joined(separator: " ")
    }
  }
}

/// The words of a list that is separated by blanks or commas.
package func items(of text: String) -> [String] { text.split { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init) }

/// Whether a text is an address of a family, AF_INET or AF_INET6.
package func isAddress(_ text: String, _ family: Int32) -> Bool {
  // Large enough for both families; the address itself is not used.
  var address = in6_addr()
  return unsafe inet_pton(family, text, &address) == 1
}

/// Untrusted text in a form that is safe for a message: printable, short, and without passwords.
package func shown(_ text: String) -> String {
  let words = text.split(separator: " ", omittingEmptySubsequences: false).map(withoutPassword)
  return printable(words.joined(separator: " "), longest: 80)
}

/// A word without the user name and password of a proxy's URL; the key of an assignment stays.
private func withoutPassword(_ word: Substring) -> String {
  guard let equals = word.firstIndex(of: "="), !word[..<equals].contains(":") else { return withoutUserInfo(word) }
  return word[...equals] + withoutUserInfo(word[equals...].dropFirst())
}

/// Advice for an unknown word: the name that was probably meant, or otherwise all names.
package func suggestion(for word: String, among names: [String]) -> String {
  if let nearest = nearestName(to: word, among: names) { return "did you mean \(nearest)?" }
  return "write \(alternatives(names))"
}
