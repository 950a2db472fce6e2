import ImgdSystem
internal import ImgdText
internal import ImgdWire

/// What the log says of a request. All that a stranger has sent is written with escapes, and of a signature only its
/// beginning.
package struct AccessEntry: Sendable {
  /// What stands for the status of a request whose client left before its answer began, as in nginx's logs.
  static let clientLeft = 499
  /// In characters.
  private static let longestField = 2_048

  /// Nanoseconds since 1970, when the request was over.
  var time: Int64
  var notes = RequestNotes()
  var method: String
  var target: String
  var isHTTP10 = false
  var status: Int
  /// Bytes of the body that were sent; nil if the connection broke off.
  var bytes: Int?
  /// From the head of the request to the end of its answer.
  var duration: Duration
  var referer: String?
  var agent: String?

  /// Its share of what may wait.
  var weight: Int { 256 + target.utf8.count + (referer?.utf8.count ?? 0) + (agent?.utf8.count ?? 0) }

  /// The line, with its end.
  package func line(as form: AccessLog.Form) -> [UInt8] {
    switch form {
    case .json: json()
    case .combined: Array(combined().utf8)
    }
  }

  private func json() -> [UInt8] {
    var line = JSONWriter(room: 512)
    line.object { line in
      line.field("time", Timestamp.rfc3339(time / 1_000_000_000))
      line.field("client", notes.client?.share)
      line.field("method", method)
      line.field("target", Self.safe(Signatures.shortened(in: target)))
      line.field("status", status)
      line.field("bytes", bytes)
      line.name("duration")
      line.value(Double(duration.nanoseconds / 1_000) / 1e6)
      line.field("source", notes.source?.rawValue)
      line.field("referer", referer.map { Self.safe(Signatures.shortened(in: $0)) })
      line.field("agent", agent.map(Self.safe))
      if let trace = notes.trace {
        line.field("trace", trace.traceID)
        line.field("span", trace.spanID)
      }
    }
    line.newline()
    return line.bytes
  }

  /// As Apache and nginx write it.
  private func combined() -> String {
    // `Sun, 06 Nov 1994 08:49:37 GMT`
    let words = HTTPDate.text(time / 1_000_000_000).split(separator: " ")
    let date = "\(words[1])/\(words[2])/\(words[3]):\(words[4]) +0000"
    let version = isHTTP10 ? "HTTP/1.0" : "HTTP/1.1"
    return
      "\(notes.client?.share ?? "-") - - [\(date)] \"\(method) \(Self.quoted(Signatures.shortened(in: target))) \(version)\" \(status)"
      + " \(bytes.map(String.init) ?? "-") \"\(Self.quoted(referer.map(Signatures.shortened)))\" \"\(Self.quoted(agent))\"\n"
  }

  private static func safe(_ text: String) -> String {
    // Nearly all texts are plain, and to look at each character takes long.
    if text.utf8.count <= longestField, text.utf8.allSatisfy({ 0x20...0x7e ~= $0 }) { return text }
    return printable(text, longest: longestField)
  }

  private static func quoted(_ text: String?) -> String {
    guard let text, !text.isEmpty else { return "-" }
    var quoted = ""
    for scalar in safe(text).unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted += "\\" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted
  }
}
