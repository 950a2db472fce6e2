import Glibc
import ImgdWire

/// The tier from which a test wants its pictures.
package enum HitTier: String, CaseIterable, Sendable {
  case memory
  case disk
}

extension DaemonStage {
  /// Sees to it that what is stored is found in the tier alone.
  package func leave(in tier: HitTier) throws {
    guard tier == .disk else { return }
    try play(
      #"""
      > {"cmd":"purge","tier":"memory","id":"leave"}
      < {"id":"leave","ok":true}
      """#)
  }

  /// A fetch with further fields, and its line.
  @discardableResult
  package func ask(
    _ path: String, _ fields: String = "", on other: TestClient? = nil
  ) throws -> JSONValue {
    let more = fields.isEmpty ? "" : "," + fields
    return try (other ?? client).ask(#"{"cmd":"fetch","url":"\#(base)\#(path)"\#(more)}"#)
  }

  /// What becomes of a fetch, in a word or two.
  package func outcome(
    _ path: String, _ fields: String = "", on other: TestClient? = nil
  ) throws -> String {
    try ask(path, fields, on: other).outcome
  }

  /// The tier where a picture is.
  package func tier(of path: String) throws -> String? {
    try client.ask(#"{"cmd":"query","url":"\#(base)\#(path)"}"#)["tier"]?.string
  }
}

/// The present and other moments, as HTTP writes them.
package func httpDate(_ secondsFromNow: Int = 0) -> String {
  var moment = time(nil) + secondsFromNow
  var parts = tm()
  gmtime_r(&moment, &parts)
  var text = [CChar](repeating: 0, count: 64)
  let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
  return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
