extension JSONValue {
  /// The text of the tree: on one line, or indented for people.
  package func encoded(pretty: Bool = false) -> String {
    var bytes: [UInt8] = []
    if pretty {
      appendPretty(to: &bytes, indent: 0)
    } else {
      var writer = JSONWriter()
      writer.value(self)
      bytes = writer.bytes
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func appendPretty(to bytes: inout [UInt8], indent: Int) {
    switch self {
    case .array(let items) where !items.isEmpty:
      Self.appendBlock("[", "]", items, indent, to: &bytes) { item, bytes in
        item.appendPretty(to: &bytes, indent: indent + 2)
      }
    case .object(let members) where !members.isEmpty:
      Self.appendBlock("{", "}", members, indent, to: &bytes) { member, bytes in
        bytes.appendString(member.name)
        bytes.appendText(": ")
        member.value.appendPretty(to: &bytes, indent: indent + 2)
      }
    default: bytes.append(contentsOf: encoded().utf8)
    }
  }

  /// Elements between brackets, each on its own line.
  private static func appendBlock<Element>(
    _ opening: StaticString, _ closing: StaticString, _ elements: [Element], _ indent: Int,
    to bytes: inout [UInt8], _ append: (Element, inout [UInt8]) -> Void
  ) {
    bytes.appendText(opening)
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      appendNewline(indent + 2, to: &bytes)
      append(element, &bytes)
    }
    appendNewline(indent, to: &bytes)
    bytes.appendText(closing)
  }

  private static func appendNewline(_ indent: Int, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indent))
  }
}
