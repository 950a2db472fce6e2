// A client has one thread, which owns its connection; tasks hand requests to it and wait without holding up a thread
// of their own. Requests of all tasks go over the one connection, and are answered in any order.

internal import ImgdConnection
internal import ImgdWire

/// The way from a program to imgd: fetches pictures, and manages the daemon's cache.
///
/// A client may be used by any number of tasks at a time; one is enough for a program. It connects with the first
/// request, and anew when the daemon has been restarted. All requests throw `ImgdError` where the daemon refuses or
/// fails, `ConnectionError` where no answer comes, and `CancellationError` where the task was cancelled.
public final class Imgd: Sendable {
  private let thread: ClientThread

  /// A client of the daemon at a socket. Without one it takes the socket in `IMGD_SOCKET`, or else that of the user's
  /// own daemon if there is one, or else the machine's.
  public init(socket: String? = nil) { thread = ClientThread(socket: socket) }

  /// Ends all that is under way with `ConnectionError.clientClosed`, and returns when all connections are
  /// closed. A client does the same when nobody holds it any more.
  public func close() async { await withCheckedContinuation { continuation in thread.close { continuation.resume() } } }

  // MARK: Pictures

  /// Delivers a picture from the cache or from its origin.
  ///
  /// Cancelling the task cancels the fetch, and its download if nobody else waits for that.
  public nonisolated(nonsending) func fetch(_ url: String, _ options: FetchOptions = FetchOptions()) async throws
    -> Picture
  {
    Picture(try await answer(to: Call(.fetch(options.request(for: url)))))
  }

  /// Delivers a picture that the program itself has, decoded by the daemon or in another form. Unless `delivery` is
  /// `path` or `store` says otherwise, it is kept in memory alone.
  public nonisolated(nonsending) func fetch(_ file: PictureFile, _ options: FetchOptions = FetchOptions()) async throws
    -> Picture
  {
    Picture(try await answer(to: Call(.fetch(options.request(for: FetchRequest.descriptorURL)), with: file.shared)))
  }

  /// Keeps a picture that the program itself has under a URL, where `fetch` finds it as if it came from there.
  @discardableResult public func put(_ url: String, _ file: PictureFile, _ options: PutOptions = PutOptions())
    async throws -> Picture
  { Picture(try await answer(to: Call(.put(options.request(for: url)), with: file.shared))) }

  /// Delivers a picture as `fetch` does, and reports each step on the way to it.
  public func progress(of url: String, _ options: FetchOptions = FetchOptions()) -> FetchProgress {
    var request = options.request(for: url)
    request.progress = true
    request.events = true
    return FetchProgress { [self, request] in beginInParts(request) }
  }

  /// Begins a fetch that nobody waits for: it goes on even if this program ends, until its outcome
  /// is collected with `wait`.
  public func begin(_ url: String, _ options: FetchOptions = FetchOptions()) async throws -> Receipt {
    var request = options.request(for: url)
    request.wait = false
    // A repeated request would begin two fetches.
    let answer = try await answer(to: Call(.fetch(request), isRepeatable: false))
    guard let receipt = answer.reply.text("receipt").flatMap({ Receipt($0) }) else {
      throw ConnectionError.unexpected(path: "imgd", what: "its answer has no receipt")
    }
    return receipt
  }

  /// Collects the outcome of a fetch that was begun, at once or when it ends; in another form than the fetch asked for,
  /// if one is named.
  public func wait(for receipt: Receipt, delivery: FetchOptions.Delivery? = nil) async throws -> Picture {
    let request = WaitRequest(receipt: receipt.id, delivery: delivery.map { wireWord($0) })
    return Picture(try await answer(to: Call(.wait(request))))
  }

  /// Cancels the fetch with a receipt, and returns how far it had got.
  @discardableResult public func cancel(_ receipt: Receipt) async throws -> FetchState {
    let call = Call(.cancel(.receipt(receipt.id)), isRepeatable: false)
    return FetchState(try await answer(to: call).reply.text("state") ?? "")
  }

  /// Cancels the fetches with a tag, of all programs of this user; returns how many there were.
  @discardableResult public func cancel(tag: String) async throws -> Int {
    let call = Call(.cancel(.tag(tag)), isRepeatable: false)
    return try await answer(to: call).reply.number("cancelled") ?? 0
  }

  // MARK: The cache

  /// Removes entries from the cache.
  @discardableResult public func purge(_ filter: PurgeFilter) async throws -> PurgeResult {
    PurgeResult(try await answer(to: Call(.purge(filter.request), isRepeatable: false)).reply)
  }

  /// The entry of a URL, if the cache has one; it does not count as used.
  public func query(_ url: String, identifier: String? = nil, describe: Bool = false) async throws -> CachedPicture? {
    let request = QueryRequest(url: url, identifier: identifier, describe: describe)
    return CachedPicture(try await answer(to: Call(.query(request))).reply)
  }

  // MARK: The daemon

  /// The daemon's counters.
  public func stats() async throws -> Statistics { Statistics(try await answer(to: Call(.stats)).reply) }

  /// The daemon's version and abilities.
  public func hello() async throws -> DaemonDescription { DaemonDescription(try await answer(to: Call(.hello)).reply) }

  /// Returns when the daemon has answered.
  public func ping() async throws { _ = try await answer(to: Call(.ping)) }

  /// The events of the whole daemon from now on, over a connection of their own.
  public func subscribe(to topics: Set<EventTopic>) async throws -> DaemonEvents {
    let feed = Feed(DaemonEvent.counting)
    let number = Call.nextID()
    let held = HeldFeed(feed: feed) { [thread] in _ = thread.post(.unsubscribe(number)) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { begun in
        let order = ClientThread.Order.subscribe(number, topics, feed) { begun.resume(with: $0) }
        if let error = thread.post(order) { begun.resume(throwing: error) }
      }
    } onCancel: {
      held.cancel()
    }
    try Task.checkCancellation()
    return DaemonEvents(subscription: held)
  }

  // MARK: Calls

  /// Hands a request to the thread, unless it is one that was sent already; the handler is called once.
  func begin(_ call: Call, by order: ClientThread.Order? = nil, then handler: @escaping Call.Handler) {
    thread.countBegun()
    let end: Call.Handler = { [thread] outcome in
      thread.countEnded()
      handler(outcome)
    }
    guard call.expect(end) else { return }
    if let error = thread.post(order ?? .begin(call)) { call.finish(.failure(error)) }
  }

  /// Ends a call at once, and has the daemon cancel it.
  func cancel(_ call: Call) {
    call.finish(.failure(CancellationError()))
    _ = thread.post(.cancel(call))
  }

  // Where the caller is: to go to another thread and back takes longer than a hit.
  private nonisolated(nonsending) func answer(to first: Call) async throws -> Answer {
    try Task.checkCancellation()
    var (call, order) = (first, ClientThread.Order?.none)
    switch thread.answerAtOnce(call) {
    case .answered(let answer, let path): return try Answer(answer, from: path)
    case .underWay(let connection, let attempt): order = .awaitAnswer(call, connection, attempt)
    case .unanswered(let wasSent): if wasSent { call = call.again }
    }
    return try await withTaskCancellationHandler { [call, order] in
      try await withCheckedThrowingContinuation { continuation in
        begin(call, by: order) { continuation.resume(with: $0) }
      }
    } onCancel: { [call] in
      cancel(call)
    }
  }

  private func beginInParts(_ fetch: FetchRequest) -> HeldFeed<FetchUpdate> {
    let feed = Feed(FetchUpdate.replacing)
    let call = Call(.fetch(fetch)) { event in if let update = FetchUpdate(event) { feed.add(update) } }
    begin(call) { outcome in
      switch outcome {
      case .success(let answer):
        feed.add(.finished(Picture(answer)))
        feed.finish()
      case .failure(let error): feed.finish(error)
      }
    }
    return HeldFeed(feed: feed) { [self] in cancel(call) }
  }
}
