import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl entries`: what a tier of the cache holds.
struct Entries: Verb {
  static let description = VerbDescription(
    "entries", "list what is in the cache",
    options: [
      VerbOption("tier", nil, .choice("TIER", Tier.allCases.map { $0.rawValue }), help: "memory, the default, or disk"),
      VerbOption("url", nil, .text("URL", .url), help: "only what is stored under this URL, its forms too"),
      VerbOption("prefix", nil, .text("TEXT", .url), help: "only entries whose URL begins with this text"),
      VerbOption("contains", nil, .text("TEXT"), help: "only entries whose URL has this text in it, in either case"),
      VerbOption("limit", "n", .number("N", 1...Int.max), help: "at most this many entries"),
      VerbOption("long", "l", help: "also when each was stored, its identifier and its tags"), .json,
    ], details: "A line for each entry, printed while the list is read. With --json each is an object.")

  private let listing: EntryListing
  private let isLong: Bool

  init(_ arguments: Arguments) {
    let wanted = EntriesRequest(
      tier: arguments.word("tier") ?? .memory, url: arguments.text("url"), prefix: arguments.text("prefix"),
      part: arguments.text("contains"))
    listing = EntryListing(wanted: wanted, limit: arguments.number("limit") ?? .max)
    isLong = arguments.has("long")
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    // Lines are printed before all of them are known, so the columns have their usual widths.
    let columns = Columns(
      [.right, .left, .right, .right, .right] + (isLong ? [.left, .left, .left] : []) + [.left],
      widths: [8, 4, 9, 9, 9] + (isLong ? [20, 10, 10] : []))
    let details = isLong ? ["STORED", "IDENTIFIER", "TAGS"] : []
    let titles = ["BYTES", "TYPE", "SIZE", "AGE", "FRESH"] + details + ["URL"]
    var isEmpty = true
    try listing.read(over: context.connect(), in: context) { entry throws(Failure) in
      if context.asJSON { return try context.print(entry.json) }
      if isEmpty { try context.print(context.palette(columns.line(titles), .heading)) }
      isEmpty = false
      try context.print(columns.line(row(entry)))
    }
    if isEmpty, !context.asJSON, !context.manner.isQuiet { context.console.remark("no entry matches") }
    return .done
  }

  private func row(_ entry: Reply) -> [String] {
    let fresh = entry.number("fresh_for") ?? 0
    let facts = [
      Quantity.shortSize(entry.number("bytes") ?? 0), printable(entry.display("format")), EntryText.dimensions(entry),
      EntryText.value("age", of: entry), fresh > 0 ? Quantity.time(seconds: fresh) : "stale",
    ]
    guard isLong else { return facts + [printable(entry.display("url"))] }
    let tags = entry.flag("any_tag") == true ? "any" : EntryText.value("tags", of: entry)
    let details = [EntryText.value("stored", of: entry), EntryText.value("identifier", of: entry), tags]
    return facts + details + [printable(entry.display("url"))]
  }
}

/// `imgctl query`: whether the cache has pictures, and what they are.
struct Query: Verb {
  static let description = VerbDescription(
    "query", "tell whether pictures are in the cache", operands: .some("URL", .url),
    options: [
      VerbOption("identifier", nil, .text("ID"), help: "the entry that was fetched with this identifier"),
      VerbOption("describe", help: "add a ThumbHash and the mean colour, which takes a decoder"), .json,
    ],
    details: """
      Prints what is known of each picture. Nothing is fetched, and the picture does not count as used. The exit code is 6 if a picture is not in the cache.
      """)

  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    var outcome = ExitCode.done
    let (identifier, describes) = (arguments.text("identifier"), arguments.has("describe"))
    for url in arguments.operands {
      let request = QueryRequest(url: url, identifier: identifier, describe: describes)
      let answer = try context.answer(to: .query(request), over: connection, within: Context.patience)
      if context.asJSON { try context.print(answer.text) }
      outcome = outcome.joined(try report(answer.reply, about: url, in: context))
    }
    return outcome
  }

  private func report(_ reply: Reply, about url: String, in context: Context) throws(Failure) -> ExitCode {
    guard reply.succeeded == true else {
      context.console.complain("\(url): \(reply.complaint(about: url))")
      return reply.exitCode
    }
    let isThere = reply.text("tier") != "none"
    if !context.asJSON {
      let isKnown = isThere || reply.objects("variants")?.isEmpty == false
      try context.print(isKnown ? facts(reply, context.palette) : printable(url) + ": not in the cache")
    }
    return isThere ? .done : .notCached
  }

  /// The headers by which one of several answers is found, its tiers, and when it was stored.
  private func variant(_ variant: Reply) -> String {
    let headers = variant.object("vary")
    let vary = (headers?.fields ?? []).map { name in printable(name) + "=" + printable(headers?.text(name) ?? "-") }
    let tiers = (variant.texts("tiers") ?? []).joined(separator: ", ")
    return vary.joined(separator: " ") + " (" + printable(tiers) + ", " + printable(variant.display("stored")) + ")"
  }

  private func facts(_ reply: Reply, _ palette: Palette) -> String {
    let rows = reply.fields.filter { !["ok", "url", "variants"].contains($0) }.map { field in
      [printable(field), EntryText.value(field, of: reply)]
    }
    let variants = (reply.objects("variants") ?? []).map { ["variant", variant($0)] }
    let lines = Columns.lines(rows + variants, [.left, .left]).map { "  " + $0 }
    return ([palette(printable(reply.text("url") ?? ""), .heading)] + lines).joined(separator: "\n")
  }
}

/// A list of entries of one tier, which the daemon answers in pages.
struct EntryListing {
  let wanted: EntriesRequest
  let limit: Int

  func read(over connection: ControlConnection, in context: Context, _ body: (Reply) throws(Failure) -> Void)
    throws(Failure)
  {
    var left = limit
    var request = wanted
    repeat {
      request.page.limit = min(left, WireLimits.entries.upperBound)
      let answer = try context.ask(.entries(request), over: connection)
      for entry in (answer.reply.objects("entries") ?? []).prefix(left) {
        try body(entry)
        left -= 1
      }
      request.page.cursor = answer.reply.text("cursor")
    } while request.page.cursor != nil && left > 0
  }
}

/// Facts about an entry of the cache, as people read them.
enum EntryText {
  /// A field with its unit.
  static func value(_ field: String, of entry: Reply) -> String {
    guard let number = entry.number(field) else {
      let text = printable(entry.texts(field)?.joined(separator: ", ") ?? entry.display(field))
      return text.isEmpty ? "-" : text
    }
    switch field {
    case "bytes" where number >= 1024: return "\(number) (\(Quantity.size(number)))"
    case "age", "fresh_for": return Quantity.time(seconds: number)
    default: return "\(number)"
    }
  }

  /// The width and the height, as in `640x480`.
  static func dimensions(_ entry: Reply) -> String {
    guard let width = entry.number("width"), let height = entry.number("height") else { return "-" }
    return "\(width)x\(height)"
  }
}
