typealias EventFeed = Feed<DaemonEvent>

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

extension DaemonEvent {
  private static let mostWaiting = 1_000

  /// Beyond a thousand events, only their number is kept.
  static func counting(_ event: DaemonEvent, _ waiting: inout [DaemonEvent]) {
    guard waiting.count >= mostWaiting else { return waiting.append(event) }
    let lost = if case .overflow(let lost) = event.kind { lost } else { 1 }
    if case .overflow(let before) = waiting[waiting.count - 1].kind {
      let (sum, isTooMany) = before.addingReportingOverflow(lost)
      waiting[waiting.count - 1] = DaemonEvent(lost: isTooMany ? .max : sum)
    } else {
      waiting.append(DaemonEvent(lost: lost))
    }
  }
}
