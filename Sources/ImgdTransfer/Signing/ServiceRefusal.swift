internal import ImgdSystem
internal import ImgdText

/// What a service that checks signatures says about a request that it refuses.
struct ServiceRefusal {
  /// How much of an answer is read for this: its code comes first.
  static let mostBytes = 1_024
  /// Services refuse what was signed longer ago, or lies further ahead.
  private static let mostSkew: Int64 = 15 * 60

  let head: HeadCollector
  /// The beginning of the answer's body, in XML.
  let body: [UInt8]
  let signedAt: Int64

  /// What is added to the sentence about the answer's status: the service's code, and a clock that is off.
  var remark: String { (code.map { " (\($0))" } ?? "") + (clockComplaint.map { ": \($0)" } ?? "") }

  /// The code in the answer, a word such as `AccessDenied`.
  var code: String? {
    let text = body.filter { $0 < 0x80 }
    let opening = Array("<Code>".utf8)
    guard let start = text.indices.first(where: { text[$0...].starts(with: opening) }) else { return nil }
    let code = text[(start + opening.count)...].prefix { ($0 | 0x20) &- UInt8(ascii: "a") < 26 }
    let isWhole = text[code.endIndex...].starts(with: "</Code>".utf8)
    return isWhole && (1...64).contains(code.count) ? String(decoding: code, as: UTF8.self) : nil
  }

  private var clockComplaint: String? {
    let theirs = head.first("date").flatMap { HTTPDate.parse($0, now: signedAt) }
    let ahead = theirs.map { signedAt - $0 }
    guard code == "RequestTimeTooSkewed" || head.status == 403 && abs(ahead ?? 0) > Self.mostSkew else { return nil }
    guard let ahead, ahead != 0 else { return "this machine's clock is wrong" }
    let difference = DurationText.text(.seconds(abs(ahead)))
    return "this machine's clock is \(difference) \(ahead > 0 ? "ahead of" : "behind") the service's"
  }
}
