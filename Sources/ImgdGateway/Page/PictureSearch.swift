import ImgdConnection
import ImgdWire

/// A search for pictures by the beginning of their URL, or by their host: in both tiers, each picture once.
final class PictureSearch {
  static let most = 100

  private let link: DaemonLink
  private let done: (Result<HTTPResponse, GatewayError>) -> Void
  /// The pages that are still to be asked for, the next one last.
  private var rest: [EntriesRequest]
  private var known: Set<[String?]> = []
  private var entries: [Reply] = []
  private var hasMore = false

  private init(_ text: String, _ link: DaemonLink, done: @escaping (Result<HTTPResponse, GatewayError>) -> Void) {
    self.link = link
    self.done = done
    rest = Tier.allCases.flatMap { tier in
      Self.prefixes(text).reversed().map { EntriesRequest(tier: tier, prefix: $0, page: PageRequest(limit: Self.most)) }
    }
  }

  /// Asks for page after page, and calls back with what was found.
  static func begin(_ text: String, _ link: DaemonLink, done: @escaping (Result<HTTPResponse, GatewayError>) -> Void) {
    PictureSearch(text, link, done: done).askForNextPage()
  }

  /// The beginnings of URLs that a person may mean: the scheme is seldom typed, and the case of a host does not matter.
  static func prefixes(_ text: String) -> [String] {
    guard let scheme = text.firstRange(of: "://") else {
      return ["https://", "http://"].map { $0 + withLowerHost(text[...]) }
    }
    return [text[..<scheme.upperBound].lowercased() + withLowerHost(text[scheme.upperBound...])]
  }

  private static func withLowerHost(_ text: Substring) -> String {
    let host = text.prefix { $0 != "/" }
    return host.lowercased() + text[host.endIndex...]
  }

  private func askForNextPage() {
    guard entries.count < Self.most, let page = rest.popLast() else {
      return done(.success(EntryFields.list(entries, hasMore: hasMore || !rest.isEmpty)))
    }
    link.ask(.entries(page)) { [self] result in
      switch PageReply.of(result) {
      case .success(let reply): keepEntries(of: reply)
      case .failure(let error): done(.failure(error))
      }
    }
  }

  private func keepEntries(of reply: Reply) {
    if reply.text("cursor") != nil { hasMore = true }
    for entry in reply.objects("entries") ?? [] where entries.count < Self.most {
      let isNew = known.insert([entry.text("url"), entry.text("identifier")]).inserted
      if isNew { entries.append(entry) }
    }
    askForNextPage()
  }
}
