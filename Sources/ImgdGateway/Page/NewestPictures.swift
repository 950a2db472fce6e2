import ImgdConnection
import ImgdSystem
import ImgdWire

/// The pictures that were stored last, for everyone who has the page open: the daemon is asked at most every two
/// seconds.
final class NewestPictures {
  /// How many pictures are shown, which is also the length of a page of the listing.
  static let wanted = 60
  static let pause = Duration.seconds(2)
  /// Memory lists its entries in no particular order: this many of them are looked at where there is no disk tier.
  private static let mostOfMemory = 500

  typealias Waiting = (Result<HTTPResponse, GatewayError>) -> Void

  private let link: DaemonLink
  private let loop: EventLoop
  private var place = NewestPlace(wanted: wanted)
  private var waiting: [Waiting] = []
  /// The last answer, and when it was made.
  private var newest: (response: HTTPResponse, moment: Instant)?

  init(_ link: DaemonLink, on loop: EventLoop) {
    self.link = link
    self.loop = loop
  }

  /// Answers with the newest pictures, the newest first.
  func list(then: @escaping Waiting) {
    if let newest, loop.now - newest.moment < Self.pause { return then(.success(newest.response)) }
    waiting.append(then)
    guard waiting.count == 1 else { return }
    place = NewestPlace(wanted: Self.wanted, from: place.candidate)
    askDisk()
  }

  /// Forgets the last answer: a purge may have removed some of its pictures.
  func forget() { newest = nil }

  private func askDisk() {
    ask(.disk, limit: Self.wanted, after: place.candidate) { [unowned self] reply in
      let entries = reply.objects("entries") ?? []
      guard place.isFound(by: entries.count, hasMore: reply.text("cursor") != nil) else { return askDisk() }
      if entries.isEmpty { return askMemory() }
      finish(.success(Array(entries.reversed())))
    }
  }

  private func askMemory() {
    ask(.memory, limit: Self.mostOfMemory, after: nil) { [unowned self] reply in
      let entries = (reply.objects("entries") ?? []).map { ($0.text("stored") ?? "", $0) }
      let newest = entries.sorted { $0.0 > $1.0 }.prefix(Self.wanted)
      finish(.success(newest.map { $0.1 }))
    }
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

  private func finish(_ result: Result<[Reply], GatewayError>) {
    let answer = result.map { EntryFields.list($0, hasMore: false) }
    if case .success(let response) = answer { newest = (response, loop.now) }
    let served = waiting
    waiting = []
    for then in served { then(answer) }
  }
}
