import Glibc
import ImgdTestSupport
import ImgdWire

/// The tier from which a test wants its pictures.
enum HitTier: String, CaseIterable {
  case memory
  case disk
}

extension Stage {
  /// Sees to it that what is stored is found in the tier alone.
  func leave(in tier: HitTier) throws {
    guard tier == .disk else { return }
    try play(
      #"""
      > {"cmd":"purge","tier":"memory","id":"leave"}
      < {"id":"leave","ok":true}
      """#)
  }

  /// A fetch with further fields, and its line.
  @discardableResult
  func ask(_ path: String, _ fields: String = "", on other: TestClient? = nil) throws -> JSONValue {
    let more = fields.isEmpty ? "" : "," + fields
    return try (other ?? client).ask(#"{"cmd":"fetch","url":"\#(base)\#(path)"\#(more)}"#)
  }

  /// What becomes of a fetch: the source, with "stale" where it is; or the code of the error, with
  /// "cached" where it was remembered.
  func outcome(_ path: String, _ fields: String = "", on other: TestClient? = nil) throws -> String
  {
    try ask(path, fields, on: other).outcome
  }

  /// The tier where a picture is.
  func tier(of path: String) throws -> String? {
    try client.ask(#"{"cmd":"query","url":"\#(base)\#(path)"}"#)["tier"]?.string
  }

  /// How many pictures are files in the cache directory.
  var files: Int { Directory.files(below: daemon.directory + "/cache", endingIn: ".png") }
}

extension JSONValue {
  var outcome: String {
    if let error = self["error"] {
      let isCached = error["details"]?["cached"]?.bool == true
      return (error["code"]?.string ?? "nothing") + (isCached ? " cached" : "")
    }
    return (self["source"]?.string ?? "nothing") + (self["stale"]?.bool == true ? " stale" : "")
  }

  /// A header of the stored answer, as `http` shows it.
  func header(_ name: String) -> String? { self["http"]?["headers"]?[name]?.string }
}

/// The present and other moments, as HTTP writes them.
func httpDate(_ secondsFromNow: Int = 0) -> String {
  var moment = time(nil) + secondsFromNow
  var parts = tm()
  gmtime_r(&moment, &parts)
  var text = [CChar](repeating: 0, count: 64)
  let count = strftime(&text, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
  return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private enum Directory {
  static func files(below path: String, endingIn suffix: String) -> Int {
    guard let directory = opendir(path) else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard !name.hasPrefix(".") else { continue }
      count += name.hasSuffix(suffix) ? 1 : files(below: path + "/" + name, endingIn: suffix)
    }
    return count
  }
}
