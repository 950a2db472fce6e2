internal import ImgdConnection
internal import ImgdWire

/// A step of a fetch, as `Imgd.progress` reports it.
public enum FetchUpdate: Sendable {
  /// The daemon has accepted the fetch, and its memory does not have the picture.
  case queued
  /// The download has begun.
  case started
  /// How many bytes of the body have arrived; `expected` is nil where the origin announces no length.
  case progress(received: Int, expected: Int?)
  /// The picture is there, and the form that was asked for is being made from it. Only with `describe`.
  case placeholder(Placeholder)
  /// The picture; the sequence ends.
  case finished(Picture)

  init?(_ event: Reply) {
    switch event.event {
    case "queued": self = .queued
    case "started": self = .started
    case "progress": self = .progress(received: event.number("received") ?? 0, expected: event.number("expected"))
    case "placeholder":
      guard let placeholder = Placeholder(event) else { return nil }
      self = .placeholder(placeholder)
    default: return nil
    }
  }

  private var kind: Int {
    switch self {
    case .queued: 0
    case .started: 1
    case .progress: 2
    case .placeholder: 3
    case .finished: 4
    }
  }

  /// At most one of each kind waits, the newest.
  static func replacing(_ update: FetchUpdate, _ waiting: inout [FetchUpdate]) {
    waiting.removeAll { $0.kind == update.kind }
    waiting.append(update)
  }
}

/// The steps of a fetch, the last of which is the picture.
///
/// Each iteration is a fetch of its own, which begins with the first call of `next` and is cancelled when
/// the loop is left before its end. For a reader that is slow a newer count replaces an older one.
public struct FetchProgress: AsyncSequence, Sendable {
  /// A step of the fetch.
  public typealias Element = FetchUpdate

  let fetch: @Sendable () -> HeldFeed<FetchUpdate>

  /// Makes an iterator; the fetch begins with the first call of `next`.
  public func makeAsyncIterator() -> Iterator { Iterator(fetch: fetch) }

  /// Reads the steps of one fetch.
  public struct Iterator: AsyncIteratorProtocol {
    let fetch: () -> HeldFeed<FetchUpdate>
    fileprivate var begun: HeldFeed<FetchUpdate>?

    /// The next step; it throws what `Imgd.fetch` throws.
    public mutating func next() async throws -> FetchUpdate? {
      let fetch = begun ?? fetch()
      begun = fetch
      do { return try await fetch.feed.next() } catch let error as CancellationError {
        fetch.cancel()
        throw error
      }
    }
  }
}

/// The handle of a fetch: a UUID.
public struct Receipt: Hashable, Sendable, CustomStringConvertible {
  let id: ReceiptID

  /// Reads a UUID in the usual form, in either case.
  public init?(_ text: String) {
    guard let id = ReceiptID(text) else { return nil }
    self.id = id
  }

  /// The UUID in lower case.
  public var description: String { id.description }
}

/// How far a fetch was when it was cancelled.
public enum FetchState: Hashable, Sendable {
  case queued
  case running
  case finished
  /// The daemon has no fetch with the receipt, or has forgotten it.
  case unknown
  /// A state of a later release.
  case other(String)

  init(_ name: String) {
    let known: [String: Self] = ["queued": .queued, "running": .running, "finished": .finished, "unknown": .unknown]
    self = known[name] ?? .other(name)
  }
}
