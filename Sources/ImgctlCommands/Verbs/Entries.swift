import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl entries`: what a tier of the cache holds.
struct Entries: Verb {
  static let description = VerbDescription(
    "entries", "list what is in the cache",
    options: [
      VerbOption("tier", nil, .choice("TIER", Tier.allCases.map { $0.rawValue }), help: "memory, the default, or disk"),
      VerbOption("prefix", nil, .text("TEXT", .url), help: "only entries whose URL begins with this text"),
      VerbOption("limit", "n", .number("N", 1...Int.max), help: "at most this many entries"),
      VerbOption("long", "l", help: "also when each was stored, its identifier and its tags"), .json,
    ], details: "A line for each entry, printed while the list is read. With --json each is an object.")

  private let listing: EntryListing
  private let isLong: Bool

  init(_ arguments: Arguments) {
    listing = EntryListing(
      tier: arguments.word("tier") ?? .memory, prefix: arguments.text("prefix"),
      limit: arguments.number("limit") ?? .max)
    isLong = arguments.has("long")
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    // Lines are printed before all of them are known, so the columns have their usual widths.
    let columns = Columns(
      [.right, .left, .right, .right, .right] + (isLong ? [.left, .left, .left] : []) + [.left],
      widths: [8, 4, 9, 9, 9] + (isLong ? [20, 10, 10] : []))
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

  private var titles: [String] {
    ["BYTES", "TYPE", "SIZE", "AGE", "FRESH"] + (isLong ? ["STORED", "IDENTIFIER", "TAGS"] : []) + ["URL"]
  }

  private func row(_ entry: Reply) -> [String] {
    let fresh = entry.number("fresh_for") ?? 0
    return [
      Quantity.shortSize(entry.number("bytes") ?? 0), printable(entry.display("format")), EntryText.dimensions(entry),
      EntryText.value("age", of: entry), fresh > 0 ? Quantity.time(seconds: fresh) : "stale",
    ] + (isLong ? details(entry) : []) + [printable(entry.display("url"))]
  }

  private func details(_ entry: Reply) -> [String] {
    let tags = entry.flag("any_tag") == true ? "any" : EntryText.value("tags", of: entry)
    return [EntryText.value("stored", of: entry), EntryText.value("identifier", of: entry), tags]
  }
}
