import ImgdTestSupport
import ImgdWire

// Questions that many tests of the disk tier ask.

extension CoreStage {
  /// A fetch with further fields, which must succeed.
  @discardableResult
  func fetch(_ path: String, _ fields: String) throws -> JSONValue {
    let line = try ask(path, fields)
    guard line["ok"] == .bool(true) else { throw TestFailure(line.text) }
    return line
  }

  /// A fetch that must bring a path.
  func path(of path: String, _ fields: String = "") throws -> String {
    let line = try fetch(path, fields)
    guard let file = line["path"]?.string else { throw TestFailure(line.text) }
    return file
  }

  /// The source of a fetch's answer.
  func source(of path: String, _ fields: String = "") throws -> String? {
    try fetch(path, fields)["source"]?.string
  }

  /// A purge, and how many entries it found on disk.
  @discardableResult
  func purge(_ fields: String = "") throws -> Int64? {
    let line = try play(#"> {"cmd":"purge"\#(fields.isEmpty ? "" : "," + fields)}"# + "\n< {}")[0]
    return line["disk"]?["entries"]?.integer
  }

  func emptyMemory() throws { try purge(#""tier":"memory""#) }

  /// A figure of the disk tier in `stats`.
  func disk(_ name: String) throws -> JSONValue? {
    try connect().ask(#"{"cmd":"stats"}"#)["disk"]?[name]
  }

  func count(_ name: String) throws -> Int { try stats("disk", name) }

  /// The URLs of the disk tier behind a place.
  func page(behind cursor: String) throws -> [String] {
    let page = try client.ask(#"{"cmd":"entries","tier":"disk","cursor":"\#(cursor)"}"#)
    return (page["entries"]?.array ?? []).compactMap { $0["url"]?.string }
  }

  /// All entries of the disk tier, page by page.
  func entries(limit: Int = 1_000, prefix: String = "") throws -> [JSONValue] {
    var all: [JSONValue] = []
    var cursor: String?
    repeat {
      let from = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let page = try client.ask(
        #"{"cmd":"entries","tier":"disk","limit":\#(limit),"prefix":"\#(base)\#(prefix)"\#(from)}"#)
      guard let entries = page["entries"]?.array else { throw TestFailure(page.text) }
      all += entries
      cursor = page["cursor"]?.string
    } while cursor != nil
    return all
  }
}
