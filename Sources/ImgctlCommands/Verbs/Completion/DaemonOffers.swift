import ImgdConnection
import ImgdSystem
import ImgdWire

/// What the daemon has to offer for a word. A person waits for it with a finger on the key: it is given a moment only,
/// and never looks through all of a large cache.
struct DaemonOffers {
  /// The time for all questions together.
  private static let patience = Duration.seconds(1)
  /// How many URLs shells show without asking first.
  private static let mostURLs = 100
  /// The most entries of a tier that the daemon may look at.
  private static let mostExamined = 10_000

  private let context: Context
  private let connection: ControlConnection
  private let deadline = Instant.current + patience

  init(_ context: Context) throws(Failure) {
    self.context = context
    connection = try context.connect(mayWait: false)
  }

  /// The sections of the configuration, and the keys of a section once it is the only one that fits.
  func settings(_ word: String) throws(Failure) -> [UnfinishedLine.Offer] {
    guard let sections = try ask(.config).object("config") else { return [] }
    let fitting = sections.fields.filter { ($0 + ".").hasPrefix(word) || word.hasPrefix($0 + ".") }
    var offers: [UnfinishedLine.Offer] = fitting.map { (word: $0, help: "") }
    if fitting.count == 1, let section = sections.object(fitting[0]) {
      offers += section.fields.map { (word: "\(fitting[0]).\($0)", help: section.text($0) ?? "") }
    }
    return offers
  }

  /// URLs of the cache that begin with a word: those in memory, unless there are too many, and those stored last.
  func urls(_ word: String) throws(Failure) -> [UnfinishedLine.Offer] {
    var entries: [Reply] = []
    let memory = try ask(.stats).object("memory")
    if memory?.number("entries") ?? 0 <= Self.mostExamined {
      entries = try self.entries(.memory, prefix: word, atMost: Self.mostURLs)
    }
    // While the disk is still being read after a start, the URLs in memory are offered all the same.
    if entries.count < Self.mostURLs { entries += (try? newest(word)) ?? [] }
    var known: Set<String> = []
    let urls = entries.compactMap { $0.text("url") }.filter { known.insert($0).inserted }
    return urls.prefix(Self.mostURLs).map { ($0, "") }
  }

  /// Entries on disk that begin with a word, among those stored last. Entries are numbered as they are stored, and any
  /// number can be a cursor, so the end of the list is found by halving.
  private func newest(_ word: String) throws(Failure) -> [Reply] {
    var (low, high) = (0, Int(UInt32.max))
    while high - low > Self.mostExamined / 2 {
      let middle = low + (high - low) / 2
      let isBehind = try entries(.disk, after: middle, atMost: 1).isEmpty
      if isBehind { high = middle } else { low = middle }
    }
    let start = max(high - Self.mostExamined, 0)
    return try entries(.disk, prefix: word, after: start, atMost: Self.mostURLs)
  }

  private func entries(_ tier: Tier, prefix: String = "", after cursor: Int? = nil, atMost limit: Int) throws(Failure)
    -> [Reply]
  {
    let page = PageRequest(limit: limit, cursor: cursor.map { String($0) })
    let request = EntriesRequest(tier: tier, prefix: prefix.isEmpty ? nil : prefix, page: page)
    return try ask(.entries(request)).objects("entries") ?? []
  }

  private func ask(_ request: Request) throws(Failure) -> Reply {
    try context.ask(request, over: connection, within: deadline - Instant.current).reply
  }
}
