internal import ImgdText

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

/// The words of a list that is separated by blanks or commas.
package func items(of text: String) -> [String] { text.split { $0 == " " || $0 == "\t" || $0 == "," }.map(String.init) }
