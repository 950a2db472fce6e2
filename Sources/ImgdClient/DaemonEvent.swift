internal import ImgdConnection

/// A group of events that one can subscribe to.
public enum EventTopic: String, CaseIterable, Sendable {
  /// Fetches, of all clients.
  case jobs
  /// What is stored and removed.
  case cache
  /// The machine is short of memory.
  case pressure
  /// The configuration was read again.
  case config
}

/// An event of the whole daemon.
public struct DaemonEvent: Sendable {
  /// What happened, with its main facts.
  public enum Kind: Equatable, Sendable {
    /// A fetch: `queued`, `running`, `done`, `failed` or `cancelled`.
    case job(receipt: Receipt?, url: String, state: String)
    /// A tier: `stored`, `evicted`, `purged`, `removed_all` or `marked`; a purge may have found nothing.
    case cache(change: String, tier: String, entries: Int, bytes: Int)
    /// How much was removed because memory was short.
    case pressure(source: String, entries: Int, bytes: Int)
    /// `reloaded` or `refused`.
    case config(change: String)
    /// How many events were dropped, because the program read too slowly.
    case overflow(lost: Int)
    /// An event of a later release.
    case other(String)

    fileprivate init(_ event: Reply) {
      func text(_ field: String) -> String { event.text(field) ?? "" }
      func number(_ field: String) -> Int { event.number(field) ?? 0 }
      switch event.event {
      case "job": self = .job(receipt: Receipt(text("receipt")), url: text("url"), state: text("state"))
      case "cache":
        self = .cache(change: text("what"), tier: text("tier"), entries: number("entries"), bytes: number("bytes"))
      case "pressure":
        self = .pressure(source: text("source"), entries: number("removed_entries"), bytes: number("removed_bytes"))
      case "config": self = .config(change: text("what"))
      case "overflow": self = .overflow(lost: number("lost"))
      default: self = .other(event.event ?? "")
      }
    }
  }

  /// What happened.
  public let kind: Kind
  /// The daemon's serial number; nil where events were dropped by this library.
  public let serial: Int?
  /// The whole event as JSON text.
  public let json: String

  init(_ event: Reply) {
    kind = Kind(event)
    serial = event.number("seq")
    json = event.json
  }

  init(lost: Int) {
    kind = .overflow(lost: lost)
    serial = nil
    json = #"{"event":"overflow","lost":\#(lost)}"#
  }

  /// Beyond a thousand events, only their number is kept.
  static func counting(_ event: DaemonEvent, _ waiting: inout [DaemonEvent]) {
    guard waiting.count >= 1_000 else { return waiting.append(event) }
    let lost = if case .overflow(let lost) = event.kind { lost } else { 1 }
    if case .overflow(let before) = waiting[waiting.count - 1].kind {
      let (sum, isTooMany) = before.addingReportingOverflow(lost)
      waiting[waiting.count - 1] = DaemonEvent(lost: isTooMany ? .max : sum)
    } else {
      waiting.append(DaemonEvent(lost: lost))
    }
  }
}

/// The events of a subscription; the connection is closed when nobody holds the sequence any more.
///
/// All iterators share the events. At most a thousand wait for a slow reader: further ones are dropped, and
/// an `overflow` says how many. When the daemon goes, the sequence ends with a `ConnectionError`.
public struct DaemonEvents: AsyncSequence, Sendable {
  /// An event of the daemon.
  public typealias Element = DaemonEvent

  let subscription: HeldFeed<DaemonEvent>

  /// Another reader of the same events.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// Reads events.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: HeldFeed<DaemonEvent>

    /// The next event; nil after the subscription has ended.
    public func next() async throws -> DaemonEvent? { try await subscription.feed.next() }
  }
}
