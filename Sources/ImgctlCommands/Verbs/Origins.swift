import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl origins`: what the daemon knows of each section and of the busiest hosts.
struct Origins: Verb {
  static let description = VerbDescription(
    "origins", "show what is known of each origin", options: [.json],
    details: """
      A row for each section [Origin ...] of the configuration, with its hosts below it, and one for each other host, the busiest first. HITS are the requests that were answered without a download of their own, FIRST BYTE is the time until an answer began, for half and for 99% of the downloads.
      """)

  private static let titles = [
    "ORIGIN", "REQUESTS", "HITS", "DOWNLOADS", "ERRORS", "BYTES", "FIRST BYTE", "99%", "ACTIVE", "QUEUED", "STATE",
  ]

  init(_ arguments: Arguments) {}

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    var origins: [Reply] = []
    for answer in try context.pages(of: { .origins($0) }, over: context.connect()) {
      if context.asJSON { try context.print(answer.text) } else { origins += answer.reply.objects("origins") ?? [] }
    }
    if context.asJSON { return .done }
    guard !origins.isEmpty else {
      if !context.manner.isQuiet { context.console.remark("nothing was fetched, and there is no section [Origin ...]") }
      return .done
    }
    let sides: [Columns.Side] = [.left] + Self.titles.dropFirst().dropLast().map { _ in .right } + [.left]
    try context.print(Self.titles, Self.inOrder(origins).map(Self.row), sides)
    return .done
  }

  /// The sections by their names, each before its hosts, and then the other hosts; hosts by how busy they are.
  private static func inOrder(_ origins: [Reply]) -> [Reply] {
    origins.enumerated().sorted { left, right in
      let (one, other) = (left.element, right.element)
      let (section, otherSection) = (one.text("section"), other.text("section"))
      if section != otherSection { return otherSection.map { (section ?? "\u{ff}") < $0 } ?? true }
      let (isHost, isOtherHost) = (one.text("host") != nil, other.text("host") != nil)
      if isHost != isOtherHost { return isOtherHost }
      let (count, otherCount) = (one.number("requests") ?? 0, other.number("requests") ?? 0)
      return count == otherCount ? left.offset < right.offset : count > otherCount
    }.map { $0.element }
  }

  private static func row(_ origin: Reply) -> [String] {
    let section = origin.text("section")
    let host = origin.text("host").map { (section == nil ? "" : "  ") + $0 }
    let requests = origin.number("requests") ?? 0
    let hits = (origin.number("hits") ?? 0).addingReportingOverflow(origin.number("coalesced") ?? 0).partialValue
    let times = origin.object("first_byte_us")
    let time = { (field: String) in times?.fraction(field).map { Quantity.time(microseconds: $0) } ?? "-" }
    return [
      printable(host ?? "[\(section ?? "?")]"), "\(requests)", Quantity.share(hits, of: requests) ?? "-",
      printable(origin.display("downloads")), printable(origin.display("errors")),
      Quantity.shortSize(origin.number("bytes_received") ?? 0), time("p50"), time("p99"),
      printable(origin.display("active")), printable(origin.display("queued")), state(of: origin),
    ]
  }

  private static func state(of origin: Reply) -> String {
    var texts: [String] = []
    if let held = origin.text("held") {
      let wait = origin.number("wait_ms").map { Duration.milliseconds($0) }
      texts.append(HeldText.text(held, wait: wait) ?? printable(held))
    }
    if let refusal = origin.object("refusal").flatMap(RefusalText.init) { texts.append(refusal.text) }
    if origin.text("problem") != nil { texts.append("its file cannot be used") }
    return texts.joined(separator: "; ")
  }
}

/// How an origin has kept the daemon out, in words for people.
struct RefusalText {
  let text: String
  let times: Int

  init?(_ refusal: Reply) {
    times = refusal.number("times") ?? 1
    let often = times == 1 ? "once" : "\(times) times in a row"
    if let status = refusal.number("status") {
      text = (status >= 500 ? "answers" : "refuses") + " with status \(status), \(often)"
    } else if let code = refusal.text("code") {
      let words =
        switch code {
        case "timeout": "does not answer"
        case "truncated": "breaks off"
        case "not_an_image": "sends no picture"
        default: "cannot be reached"
        }
      text = words + " (\(printable(code))), \(often)"
    } else {
      return nil
    }
  }
}
