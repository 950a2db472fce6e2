/// One request to the origin.
package struct OriginRequest: Sendable {
  package let method: String
  package let path: String
  package let headers: [(name: String, value: String)]
  /// The head as received.
  package let text: String
  /// The number of its connection, counted from 1.
  package let connection: Int

  package init?(_ text: String, connection: Int) {
    let lines = text.split(separator: "\r\n")
    let first = (lines.first ?? "").split(separator: " ")
    guard first.count == 3 else { return nil }
    method = String(first[0])
    path = String(first[1])
    headers = lines.dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      return (line[..<colon].lowercased(), String(value))
    }
    self.text = text
    self.connection = connection
  }

  /// The value of a header, by its lower-case name.
  package func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value
  }

  /// The start of a requested range: 600 for `Range: bytes=600-`.
  var rangeStart: Int? {
    guard let range = header("range"), range.hasPrefix("bytes="), range.hasSuffix("-") else {
      return nil
    }
    return Int(range.dropFirst("bytes=".count).dropLast())
  }
}
