import Glibc
import ImgdWire

// What tests read out of the lines that a daemon answers.

extension JSONValue {
  /// The stable name of what went wrong.
  package var failureCode: String? { self["error"]?["code"]?.string }
  package var failureMessage: String { self["error"]?["message"]?.string ?? "" }
  package var failureField: String? { self["error"]?["details"]?["field"]?.string }

  /// How many fetches a `list` shows.
  package var jobCount: Int { self["jobs"]?.array?.count ?? -1 }

  /// What became of a fetch: its source, with "stale" where it is; or the code of its error, with
  /// "cached" where it was remembered.
  package var outcome: String {
    if let error = self["error"] {
      let isCached = error["details"]?["cached"]?.bool == true
      return (error["code"]?.string ?? "nothing") + (isCached ? " cached" : "")
    }
    return (self["source"]?.string ?? "nothing") + (self["stale"]?.bool == true ? " stale" : "")
  }

  /// A header of the stored answer, as `http` shows it.
  package func header(_ name: String) -> String? { self["http"]?["headers"]?[name]?.string }
}

extension TestClient {
  /// So many answers, without the events between them.
  package func receiveAnswers(_ count: Int) throws -> [JSONValue] {
    var answers: [JSONValue] = []
    while answers.count < count {
      let line = try receive()
      if line["ok"] != nil { answers.append(line) }
    }
    return answers
  }
}

/// What is left to be read of a descriptor.
package func contents(of descriptor: CInt) -> [UInt8] {
  var bytes: [UInt8] = []
  var part = [UInt8](repeating: 0, count: 65_536)
  while case let count = read(descriptor, &part, part.count), count > 0 { bytes += part[..<count] }
  return bytes
}
