internal import ImgdWire
internal import ImgdText

/// The text of one value in a target, and the name that a complaint gives it.
struct ParameterValue {
  let name: String
  /// The parameter or option of the error.
  let field: String
  let text: String

  func integer(_ range: ClosedRange<Int>, _ kind: String) throws(GatewayError) -> Int {
    guard !text.isEmpty, text.utf8.allSatisfy({ 48...57 ~= $0 }), let number = Int(text), range.contains(number) else {
      throw wrong(kind)
    }
    return number
  }

  /// A side of a picture.
  func pixels() throws(GatewayError) -> Int {
    try integer(WireLimits.side, "a whole number of pixels from 1 to \(WireLimits.side.upperBound)")
  }

  func flag() throws(GatewayError) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default: throw wrong("true or false")
    }
  }

  /// A decimal number from 1 to 8.
  func density() throws(GatewayError) -> Double {
    // Browsers write up to 17 digits.
    guard text.utf8.count <= 24, text.utf8.allSatisfy({ 48...57 ~= $0 || $0 == 46 }), let number = Double(text),
      1...8 ~= number
    else { throw wrong("a number from 1 to 8, such as 1.5") }
    return number
  }

  func word<Word: RawRepresentable<String> & CaseIterable>() throws(GatewayError) -> Word {
    guard let word = Word(rawValue: text) else { throw wrong(among: Word.allCases.map { $0.rawValue }) }
    return word
  }

  /// A text of at least one byte.
  func something(_ kind: String) throws(GatewayError) -> String {
    guard !text.isEmpty else { throw wrong(kind) }
    return text
  }

  // MARK: Complaints

  /// A complaint with the word that was probably meant, or all of them.
  func wrong(among words: [String]) -> GatewayError {
    guard let meant = nearestName(to: text, among: words) else { return wrong(alternatives(words)) }
    return refusal("\"\(name)\" was \"\(Excerpt.of(text))\": did you mean \"\(meant)\"?")
  }

  /// A complaint with the values that would be right.
  func wrong(_ wanted: String) -> GatewayError {
    text.isEmpty
      ? refusal("\"\(name)\" is empty; it takes \(wanted)")
      : refusal("\"\(name)\" was \"\(Excerpt.of(text))\"; it takes \(wanted)")
  }

  func refusal(_ message: String) -> GatewayError { .badRequest(message, field: field) }
}
