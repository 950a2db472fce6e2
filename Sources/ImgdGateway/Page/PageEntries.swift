import ImgdConnection
import ImgdSystem
import ImgdText
import ImgdWire

/// The pictures that were stored last, for everyone who has the page open: the daemon is asked at most every two
/// seconds.
final class NewestPictures {
  /// How many pictures are shown.
  static let wanted = 60
  /// The length of a page of the listing: a picture has some forms, and each is an entry.
  static let looked = 300
  static let pause = Duration.seconds(2)
  /// Memory lists its entries in no particular order: this many of them are looked at where there is no disk tier.
  private static let mostOfMemory = 500

  typealias Waiting = (Result<HTTPResponse, GatewayError>) -> Void

  private let link: DaemonLink
  private let loop: EventLoop
  private var place = NewestPlace(wanted: looked)
  private var waiting: [Waiting] = []
  /// The last answer, and when it was made.
  private var newest: (entries: [EntryCollection.Entry], moment: Instant)?

  init(_ link: DaemonLink, on loop: EventLoop) {
    self.link = link
    self.loop = loop
  }

  /// Answers with the newest pictures, the newest first. An answer that was made for others may lack what has just been
  /// stored, and says so.
  func list(then: @escaping Waiting) {
    if let newest, loop.now - newest.moment < Self.pause {
      return then(.success(EntryFields.list(newest.entries, isOld: true)))
    }
    waiting.append(then)
    guard waiting.count == 1 else { return }
    place = NewestPlace(wanted: Self.looked, from: place.candidate)
    askDisk()
  }

  /// Forgets the last answer: a purge may have removed some of its pictures.
  func forget() { newest = nil }

  private func askDisk() {
    ask(.disk, limit: Self.looked, after: place.candidate) { [unowned self] reply in
      let entries = reply.objects("entries") ?? []
      guard place.isFound(by: entries.count, hasMore: reply.text("cursor") != nil) else { return askDisk() }
      if entries.isEmpty { return askMemory() }
      finish(.success(Self.firstPictures(of: entries.reversed()).map { (.disk, $0) }))
    }
  }

  private func askMemory() {
    ask(.memory, limit: Self.mostOfMemory, after: nil) { [unowned self] reply in
      let entries = (reply.objects("entries") ?? []).map { ($0.text("stored") ?? "", $0) }
      finish(.success(Self.firstPictures(of: entries.sorted { $0.0 > $1.0 }.map(\.1)).map { (.memory, $0) }))
    }
  }

  /// The entries up to those of the last picture that is shown.
  private static func firstPictures(of entries: [Reply]) -> [Reply] {
    var known: Set<[String?]> = []
    return Array(
      entries.prefix {
        known.insert(EntryFields.picture(of: $0))
        return known.count <= wanted
      })
  }

  private func ask(_ tier: Tier, limit: Int, after place: Int?, then: @escaping (Reply) -> Void) {
    let page = PageRequest(limit: limit, cursor: place.map { String($0) })
    link.ask(.entries(EntriesRequest(tier: tier, page: page))) { [weak self] result in
      switch PageReply.of(result) {
      case .success(let reply): if self != nil { then(reply) }
      case .failure(let error): self?.finish(.failure(error))
      }
    }
  }

  private func finish(_ result: Result<[EntryCollection.Entry], GatewayError>) {
    if case .success(let entries) = result { newest = (entries, loop.now) }
    let served = waiting
    waiting = []
    for (place, then) in served.enumerated() { then(result.map { EntryFields.list($0, isOld: place > 0) }) }
  }
}

// The disk tier lists its entries in the order in which they were stored, from any place on, and a place is a number
// that grows with each entry. The newest are at the end, which has to be searched for: in growing steps from the place
// that was good the last time until a page has no next one, then by halves between the last two places. A cache of a
// million entries takes about thirty questions the first time, and one or two after that.

/// The search for a place in a listing that is followed by at most one page, and not by a small one.
struct NewestPlace {
  /// Places are numbers of 32 bits.
  static let last = Int(UInt32.max)

  /// The length of a page.
  private let wanted: Int
  /// The page after this place is asked for next.
  private(set) var candidate: Int
  /// After this place there is more than a page; -1 while no such place is known.
  private var low = -1
  /// After this place there are too few entries for a page.
  private var high: Int?
  private var step: Int

  init(wanted: Int, from candidate: Int = 0) {
    self.wanted = wanted
    self.candidate = candidate
    step = wanted
  }

  /// Takes in the page after the candidate, and returns whether it is the one to show; otherwise chooses another
  /// candidate.
  mutating func isFound(by count: Int, hasMore: Bool) -> Bool {
    if hasMore {
      low = candidate
      // Entries have been added since.
      if candidate >= high ?? .max { high = nil }
    } else if count >= wanted / 2 || candidate - low <= 1 {
      return true
    } else {
      high = candidate
    }
    choose()
    return false
  }

  private mutating func choose() {
    if let high {
      // The place above the low one is the last to be asked about.
      candidate = max(low + (high - low) / 2, min(low + 1, high))
    } else {
      candidate = min(candidate + step, Self.last)
      step = min(step * 2, Self.last)
    }
  }
}

/// Entries of both tiers, the disk's first, collected a page at a time.
final class EntryCollection {
  typealias Entry = (tier: Tier, fields: Reply)

  static let most = 100
  /// Forms of one picture are entries with its URL: so many pages are looked through for different ones.
  private static let mostPages = 8

  private let link: DaemonLink
  private let isEachOnce: Bool
  private let done: (Result<HTTPResponse, GatewayError>) -> Void
  /// What is still to be asked for, the next one last.
  private var rest: [EntriesRequest]
  private var pages = 0
  private var known: Set<[String?]> = []
  private var entries: [Entry] = []

  /// `isEachOnce` says that of each picture one entry is enough.
  private init(
    _ wanted: EntriesRequest, isEachOnce: Bool, _ link: DaemonLink,
    done: @escaping (Result<HTTPResponse, GatewayError>) -> Void
  ) {
    self.link = link
    self.isEachOnce = isEachOnce
    self.done = done
    rest = Tier.allCases.map { tier in
      var request = wanted
      request.tier = tier
      request.page.limit = Self.most
      return request
    }
  }

  /// Calls back with pictures whose URL has a part.
  static func search(
    _ part: String, _ link: DaemonLink, done: @escaping (Result<HTTPResponse, GatewayError>) -> Void
  ) { EntryCollection(EntriesRequest(part: part), isEachOnce: true, link, done: done).askForNextPage() }

  /// Calls back with all that is stored under a URL.
  static func list(_ url: String, _ link: DaemonLink, done: @escaping (Result<HTTPResponse, GatewayError>) -> Void) {
    EntryCollection(EntriesRequest(url: url), isEachOnce: false, link, done: done).askForNextPage()
  }

  private func askForNextPage() {
    guard entries.count < Self.most, pages < Self.mostPages, let page = rest.last else {
      return done(.success(EntryFields.list(entries, hasMore: !rest.isEmpty)))
    }
    pages += 1
    link.ask(.entries(page)) { [self] result in
      switch PageReply.of(result) {
      case .success(let reply): keepEntries(of: reply, in: page.tier)
      case .failure(let error): done(.failure(error))
      }
    }
  }

  private func keepEntries(of reply: Reply, in tier: Tier) {
    if let cursor = reply.text("cursor") { rest[rest.count - 1].page.cursor = cursor } else { rest.removeLast() }
    for entry in reply.objects("entries") ?? [] where entries.count < Self.most {
      let isNew = !isEachOnce || known.insert(EntryFields.picture(of: entry)).inserted
      if isNew { entries.append((tier, entry)) }
    }
    askForNextPage()
  }
}

/// The sizes in which the page shows a picture that is in the cache.
enum PagePicture {
  /// A tile: twice the size at which the page shows it, for screens with fine pixels.
  case thumbnail
  /// The whole picture beside its facts.
  case preview
  /// The file as it is in the cache, in a tab of its own.
  case original

  private static let lifetime = 60

  /// The request only looks into the cache: nothing is downloaded or kept, and it counts neither as a look-up nor as a
  /// use.
  func request(_ url: String, share: String?) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.cache = .peek
    fetch.priority = .low
    fetch.delivery = .fd
    if let box { fetch.form = PictureForm(box: box, formats: [.webp], frames: .first) }
    fetch.extras.share = share
    return fetch
  }

  private var box: PictureForm.Box? {
    switch self {
    case .thumbnail: PictureForm.Box(width: 320, height: 240, fit: .cover)
    case .preview: PictureForm.Box(width: 640, height: 640)
    case .original: nil
    }
  }

  /// The answer to a browser, which keeps the picture for a minute.
  static func response(to answer: DaemonAnswer, known tags: [String]) -> HTTPResponse? {
    guard let picture = answer.takeDescriptor(), let length = answer.reply.number("bytes"), length > 0,
      let type = answer.reply.text("type")
    else { return nil }
    let checksum = answer.reply.objects("fds")?.first?.text("checksum")
    let tag = checksum.map { "\"\($0)\"" }
    var fields: HTTPResponse.Fields = [("Cache-Control", "private, max-age=\(lifetime)")]
    if let tag { fields.append(("ETag", tag)) }
    let own = tag.flatMap { EntityTag($0) }
    if let own, tags.contains(where: { $0 == "*" || own.isIn($0) == true }) {
      return HTTPResponse(status: 304, fields: fields + PageAnswer.common, body: .length(length))
    }
    fields.append(("Content-Type", type))
    fields.append(("Content-Security-Policy", "default-src 'none'; sandbox"))
    return HTTPResponse(status: 200, fields: fields + PageAnswer.common, body: .file(0..<length), of: picture)
  }
}

/// A stored picture as the page sees it: without the path of its file.
enum EntryFields {
  private static let texts: [StaticString] = ["url", "identifier", "format", "type", "stored"]
  private static let numbers: [StaticString] = ["width", "height", "frames", "bytes", "age", "fresh_for"]

  /// What the entries of a picture and of its forms have in common.
  static func picture(of entry: Reply) -> [String?] { [entry.text("url"), entry.text("identifier")] }

  /// An element of `entries`, or the answer to `query`.
  static func write(_ entry: Reply, in tier: String?, to line: inout JSONWriter) {
    line.object { line in
      line.field("tier", tier)
      for name in texts { if let text = entry.text("\(name)") { line.field(name, text) } }
      for name in numbers { if let number = entry.number("\(name)") { line.field(name, number) } }
      line.array("tags") { line in for tag in entry.texts("tags") ?? [] { line.value(tag) } }
    }
  }

  static func list(_ entries: [EntryCollection.Entry], hasMore: Bool = false, isOld: Bool = false) -> HTTPResponse {
    PageAnswer.json { line in
      line.array("entries") { line in
        for entry in entries { write(entry.fields, in: entry.tier.rawValue, to: &line) }
      }
      line.field("more", hasMore)
      line.field("old", isOld)
    }
  }
}
