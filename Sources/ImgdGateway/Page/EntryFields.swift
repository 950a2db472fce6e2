import ImgdConnection
import ImgdWire

/// A stored picture as the page sees it: without the path of its file.
enum EntryFields {
  private static let texts: [StaticString] = ["url", "identifier", "format", "type", "stored", "tier"]
  private static let numbers: [StaticString] = ["width", "height", "frames", "bytes", "age", "fresh_for"]

  /// An element of `entries`, or the answer to `query`.
  static func write(_ entry: Reply, to line: inout JSONWriter) {
    line.object { line in
      for name in texts { if let text = entry.text("\(name)") { line.field(name, text) } }
      for name in numbers { if let number = entry.number("\(name)") { line.field(name, number) } }
      line.array("tags") { line in for tag in entry.texts("tags") ?? [] { line.value(tag) } }
    }
  }

  /// A list of entries, and whether there are more.
  static func list(_ entries: [Reply], hasMore: Bool) -> HTTPResponse {
    PageAnswer.json { line in
      line.array("entries") { line in for entry in entries { write(entry, to: &line) } }
      line.field("more", hasMore)
    }
  }
}
