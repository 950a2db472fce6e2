// The fields by which a client says what it prefers (RFC 9110, 12.5): lists of ranges, most with a weight.
//
//     Accept: text/html;Level=1;q=0.50 , image/webp      image/webp,text/html;level=1;q=0.5
//
// The order of their members and the case of the ranges mean nothing, and a weight of one may be left out. So
// there is one form for all spellings of a list: its members in lower case, with the shortest weight, each once,
// in the order of their bytes. Values of parameters may have a meaning of their own, and stay as they are.

internal import ImgdText

/// The field values whose members say what a client prefers.
enum PreferenceList {
  private static let names: Set<String> = ["accept", "accept-charset", "accept-encoding", "accept-language"]
  /// Longer lists are compared as they were written: nobody needs them, and sorting them would take long.
  private static let mostMembers = 128

  /// Whether a field, given by its lower-case name, has such values.
  static func isValue(of name: String) -> Bool { names.contains(name) }

  /// The one form of a list; nil for one that does not follow the field's grammar, and for a very long one.
  static func normalised(_ value: String, of name: String) -> String? {
    var scanner = FieldScanner(value)
    var members: [String] = []
    var count = 0
    repeat {
      count += 1
      scanner.skipBlanks()
      guard count <= mostMembers else { return nil }
      if scanner.isAtMemberEnd { continue }
      guard let member = scanner.takePreference(hasParameters: name == "accept") else { return nil }
      members.append(member)
    } while scanner.takeByte(UInt8(ascii: ","))
    return scanner.isAtEnd ? inOrder(members).joined(separator: ",") : nil
  }

  /// The members without duplicates, in the order of their bytes.
  private static func inOrder(_ members: [String]) -> [String] {
    var once: [String] = []
    for member in members.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      if let last = once.last, sameBytes(last, member) { continue }
      once.append(member)
    }
    return once
  }
}

extension FieldScanner {
  /// A range with its parameters and its weight, in their one form; nil for anything else.
  fileprivate mutating func takePreference(hasParameters: Bool) -> String? {
    guard var member = takeToken() else { return nil }
    if hasParameters {
      guard takeByte(UInt8(ascii: "/")), let subtype = takeToken() else { return nil }
      member += "/" + subtype
    }
    var weight: String?
    skipBlanks()
    while takeByte(UInt8(ascii: ";")) {
      skipBlanks()
      guard let parameter = takeToken() else {
        // RFC 9110, 5.6.6: there may be nothing between two semicolons.
        if isAtMemberEnd || isAt(UInt8(ascii: ";")) { continue }
        return nil
      }
      guard takeByte(UInt8(ascii: "=")) else { return nil }
      if parameter == "q" {
        guard weight == nil, let text = takeWrittenToken(), let least = shortestWeight(text) else { return nil }
        weight = least
      } else {
        guard hasParameters, let value = takeParameterValue() else { return nil }
        member += ";" + parameter + "=" + value
      }
      skipBlanks()
    }
    guard isAtMemberEnd else { return nil }
    return member + (weight ?? "")
  }

  /// Reads a token, or a quoted text, which becomes a token if it can be written as one.
  private mutating func takeParameterValue() -> String? {
    if let token = takeWrittenToken() { return token }
    guard let text = takeQuoted() else { return nil }
    var inside = FieldScanner(text)
    if let token = inside.takeWrittenToken(), sameBytes(token, text) { return token }
    return "\"" + escaped(text) + "\""
  }
}

private func escaped(_ text: String) -> String {
  var bytes: [UInt8] = []
  for byte in text.utf8 {
    if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
    bytes.append(byte)
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// A weight as a parameter without superfluous digits, or an empty text for a weight of one; nil if it is not a weight.
private func shortestWeight(_ text: String) -> String? {
  var digits = Array(text.utf8)
  guard !digits.isEmpty, digits.count <= 5, digits.count == 1 || digits[1] == UInt8(ascii: "."),
    let whole = decimalValue(digits[0]), whole < 2, digits.dropFirst(2).allSatisfy({ decimalValue($0) != nil })
  else { return nil }
  while digits.count > 1, [UInt8(ascii: "0"), UInt8(ascii: ".")].contains(digits[digits.count - 1]) {
    digits.removeLast()
  }
  if whole == 1 { return digits.count == 1 ? "" : nil }
  return ";q=" + String(decoding: digits, as: UTF8.self)
}
