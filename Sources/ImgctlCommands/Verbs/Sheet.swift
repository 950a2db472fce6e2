import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl sheet`: a contact sheet of what is cached.
struct Sheet: Verb {
  static let description = VerbDescription(
    "sheet", "make a page with small pictures of what is in the cache",
    options: [
      VerbOption("output", "o", .file("FILE"), help: "the HTML file; - is standard output"),
      VerbOption("force", "f", help: "replace the file if it exists"),
      VerbOption(
        "tier", nil, .choice("TIER", Tier.allCases.map { $0.rawValue }), help: "memory or disk; default: both"),
      VerbOption("prefix", nil, .text("TEXT", .url), help: "only entries whose URL begins with this text"),
      VerbOption("limit", "n", .number("N", 1...10_000), help: "at most this many pictures; default: 200"),
      VerbOption(
        "size", "s", .number("PIXELS", 16...1024), help: "the longest side of the small pictures; default: 160"),
    ],
    details: """
      The page is one HTML file without scripts, with the pictures inside. Nothing is fetched: pictures that have gone while the page was made are left out. The daemon makes them small, which takes a decoder, and counts each as used.
      """)

  private let output: String?
  private let replaces: Bool
  private let tiers: [Tier]
  private let prefix: String?
  private let limit: Int
  private let size: Int

  init(_ arguments: Arguments) {
    output = arguments.text("output").flatMap { $0 == "-" ? nil : $0 }
    replaces = arguments.has("force")
    tiers = arguments.word("tier").map { [$0] } ?? Tier.allCases
    prefix = arguments.text("prefix")
    limit = arguments.number("limit") ?? 200
    size = arguments.number("size") ?? 160
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    try checkTarget(context)
    let connection = try context.connect()
    let entries = try listed(over: connection, in: context)
    let pictures = try Thumbnails(entries: entries, size: size, connection: connection, context: context).all()
    try write(SheetPage(socket: context.socket, size: size).text(of: pictures, at: WallClock.seconds), context)
    report(pictures.count, of: entries.count, context)
    return .done
  }

  /// The entries of the tiers, each picture once.
  private func listed(over connection: ControlConnection, in context: Context) throws(Failure) -> [Reply] {
    var known: Set<[String?]> = []
    var entries: [Reply] = []
    for tier in tiers where entries.count < limit {
      // Entries in memory are on disk as well, so the disk tier is asked for more than are still missing.
      let listing = EntryListing(wanted: EntriesRequest(tier: tier, prefix: prefix), limit: limit + entries.count)
      try listing.read(over: connection, in: context) { entry throws(Failure) in
        let isNew = known.insert([entry.text("url"), entry.text("identifier")]).inserted
        if isNew, entries.count < limit { entries.append(entry) }
      }
    }
    return entries
  }

  private func checkTarget(_ context: Context) throws(Failure) {
    if output == nil, context.console.terminals.output {
      throw Failure(.wrongUsage, "standard output is a terminal: write -o FILE.html")
    }
    // Checked before the work begins; a later change is noticed when the file is written.
    if let output, !replaces, OutputFile.isTaken(output) { throw Self.failure(.exists(output)) }
  }

  private func write(_ page: String, _ context: Context) throws(Failure) {
    guard let output else { return try context.print(page) }
    // With signals blocked, no temporary file is left behind. Writing to a pipe or a device may take its time, and can
    // be interrupted.
    if !OutputFile.isSpecial(output) { SignalWatch.block([SIGINT, SIGTERM, SIGHUP]) }
    let file: FileDescriptor
    do throws(SystemFailure) {
      file = try Payload(Array(page.utf8) + [UInt8(ascii: "\n")]).shareable().openReadOnly()
    } catch { throw Failure(error) }
    do throws(OutputFile.Problem) { _ = try OutputFile.write(file, to: output, replaces ? .replace : .refuse) } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ problem: OutputFile.Problem) -> Failure {
    guard case .exists(let path) = problem else { return Failure(.failed, problem.description) }
    return Failure(.fileExists, "\(path) exists: write --force to replace it")
  }

  private func report(_ shown: Int, of listed: Int, _ context: Context) {
    guard !context.manner.isQuiet else { return }
    let place = output.map { " in " + $0 } ?? ""
    let missing = shown < listed ? "; \(listed - shown) left out, which could not be had" : ""
    context.console.remark("\(shown) \(shown == 1 ? "picture" : "pictures")" + place + missing)
  }
}

/// Gets the small pictures of entries from the daemon, a few at a time.
struct Thumbnails {
  /// Enough requests to keep the decoders busy, and few enough that no other client waits.
  private static let mostUnderWay = 8

  let entries: [Reply]
  let size: Int
  let connection: ControlConnection
  let context: Context

  /// The pictures in the order of their entries, without those that could not be made.
  func all() throws(Failure) -> [SheetPicture] {
    guard !entries.isEmpty else { return [] }
    var pictures = [SheetPicture?](repeating: nil, count: entries.count)
    var asked = 0
    for answered in entries.indices {
      while asked < entries.count, asked - answered < Self.mostUnderWay {
        connection.send(Request.fetch(request(entries[asked])).line(id: .integer(Int64(asked))))
        asked += 1
      }
      let reply = try context.nextAnswer(over: connection).reply
      guard let index = reply.id, entries.indices.contains(index) else { throw Failure(refusal: reply) }
      if reply.succeeded == true {
        pictures[index] = SheetPicture(entries[index], thumbnail: reply)
      } else if ReplyCode(rawValue: reply.errorCode ?? "") == .unavailable {
        throw Failure(refusal: reply)
      }
    }
    return pictures.compactMap { $0 }
  }

  private func request(_ entry: Reply) -> FetchRequest {
    var fetch = FetchRequest(url: entry.text("url") ?? "")
    fetch.identifier = entry.text("identifier")
    // Looks into the cache without counting a use and without filling it.
    fetch.cache = .peek
    fetch.delivery = .inline
    fetch.priority = .low
    fetch.form = PictureForm(
      box: PictureForm.Box(width: size, height: size), formats: [.webp, .jpeg, .png], frames: .first)
    return fetch
  }
}

/// A contact sheet as one HTML page, which needs no other file, no network and no script.
struct SheetPage {
  let socket: String
  let size: Int

  func text(of pictures: [SheetPicture], at seconds: Int64) -> String {
    let title = "Pictures of imgd at \(HTMLText.escaped(printable(socket)))"
    let count = pictures.count == 1 ? "1 picture" : "\(pictures.count) pictures"
    let head = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
      <title>\(title)</title>
      <style>\(style)</style>
      </head>
      <body>
      <h1>\(title)</h1>
      <p>\(count), \(Timestamp.rfc3339(seconds))</p>
      <ul>

      """
    return head + pictures.map(item).joined() + "</ul>\n</body>\n</html>"
  }

  private func item(_ picture: SheetPicture) -> String {
    let url = HTMLText.escaped(printable(picture.url))
    let image =
      "<img src=\"data:\(HTMLText.escaped(picture.type));base64,\(HTMLText.escaped(picture.data))\""
      + " width=\"\(picture.width)\" height=\"\(picture.height)\" alt=\"\">"
    let name = HTMLText.escaped(printable(picture.name))
    let facts = picture.facts.map { "<br>" + HTMLText.escaped($0) }.joined()
    let isLinked = HTMLText.isLinkable(picture.url)
    let link = "<a href=\"\(HTMLText.escaped(picture.url))\" title=\"\(url)\">"
    return """
      <li><figure>\(isLinked ? "\(link)\(image)</a>" : image)
      <figcaption>\(isLinked ? "\(link)\(name)</a>" : name)\(facts)</figcaption></figure></li>

      """
  }

  private var style: String {
    """
    :root{color-scheme:light dark}
    body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:light-dark(#222,#ddd);background:light-dark(#fff,#181818)}
    h1{font-size:1.3rem;margin:0}
    p{margin:.2rem 0 1.5rem;color:light-dark(#666,#999)}
    ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(\(size + 20)px,1fr));gap:1rem;list-style:none;margin:0;padding:0}
    figure{margin:0;text-align:center}
    img{max-width:100%;height:auto;background:repeating-conic-gradient(light-dark(#ddd,#333) 0 25%,transparent 0 50%) 0/16px 16px}
    figure>a:first-child,figure>img:first-child{display:flex;align-items:end;justify-content:center;min-height:\(size)px}
    figcaption{font-size:12px;margin-top:.4rem;overflow-wrap:anywhere;color:light-dark(#666,#999)}
    a{color:inherit;text-decoration:none}
    figcaption a{color:light-dark(#04c,#8bf)}
    a:hover{text-decoration:underline}
    @media print{body{margin:0;color:#000;background:#fff}li{break-inside:avoid}figcaption,figcaption a,p{color:#333}}
    """
  }
}

/// One picture of a contact sheet: its thumbnail, and the facts of its entry.
struct SheetPicture {
  let url: String
  /// The thumbnail's media type, and its bytes as base64.
  let type: String
  let data: String
  let width: Int
  let height: Int
  /// The format and the dimensions, and the size and the age.
  let facts: [String]

  /// The picture of an entry; nil if the answer has no thumbnail.
  init?(_ entry: Reply, thumbnail: Reply) {
    guard let url = entry.text("url"), let type = thumbnail.text("type"), let data = thumbnail.text("data"),
      let width = thumbnail.number("width"), let height = thumbnail.number("height")
    else { return nil }
    self.url = url
    self.type = type
    self.data = data
    self.width = width
    self.height = height
    facts = [
      printable(entry.display("format")) + " · "
        + EntryText.dimensions(entry).split(separator: "x").joined(separator: "×"),
      Quantity.size(entry.number("bytes") ?? 0) + " · " + EntryText.value("age", of: entry) + " old",
    ]
  }

  /// The end of the URL's path, by which people recognise a picture; the whole URL where that is empty.
  var name: String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    return last.isEmpty ? url : String(last)
  }
}

/// Text inside HTML, as content or as a quoted attribute.
enum HTMLText {
  /// The text with every character escaped that has a meaning in HTML.
  static func escaped(_ text: String) -> String {
    var result: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): result += "&amp;".utf8
      case UInt8(ascii: "<"): result += "&lt;".utf8
      case UInt8(ascii: ">"): result += "&gt;".utf8
      case UInt8(ascii: "\""): result += "&quot;".utf8
      case UInt8(ascii: "'"): result += "&#39;".utf8
      default: result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Whether a URL leads to a page or a picture, and runs nothing.
  static func isLinkable(_ url: String) -> Bool {
    let start = url.prefix(8).lowercased()
    return start.hasPrefix("http://") || start.hasPrefix("https://")
  }
}
