/// The place where a text stops being JSON, and what the grammar expects there.
package struct JSONSyntaxError: Error, Equatable, Sendable {
  package let offset: Int
  package let expected: Expectation

  /// The raw value completes the sentence "expected …".
  package enum Expectation: String, Sendable {
    case value = "a value"
    case key = "a key in double quotes"
    case otherKey = "a key that this object does not have yet"
    case colon = "':' after a key"
    case commaOrBrace = "',' or '}'"
    case commaOrBracket = "',' or ']'"
    case end = "nothing after the value"
    case shallower = "at most 16 levels of nesting"
    case literal = "true, false or null"
    case digit = "a digit"
    case noLeadingZero = "no digit after a leading zero"
    case finite = "a number that a double can hold"
    case closingQuote = "'\"' that ends the string"
    case noControl = "control characters written as escapes"
    case escape = "one of \"\\/bfnrtu after a backslash"
    case hexadecimal = "four hexadecimal digits after \\u"
    case surrogatePair = "a whole surrogate pair"
    case utf8 = "well-formed UTF-8"
    case shorter = "a text of less than 4 GiB"
  }
}
