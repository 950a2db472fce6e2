/// One HTTP header field, of a request or of a response.
package struct HeaderField: Hashable, Sendable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether the field is one line: a line end in it would begin a second field.
  var isOneLine: Bool { !name.isEmpty && !(name + value).utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f } }

  /// To curl, `Name:` means to leave the field out and `Name;` that it has no value.
  var line: String { value.isEmpty ? "\(name);" : "\(name): \(value)" }
}
