// A slot behaves like an image view that is given a URL: it shows the last thing that it was asked for.
//
// It cancels by receipt, and does not use the slots of the protocol: those belong to a connection, which
// remembers each name until it ends, and a program with a slot for each row of a list would leave thousands.
//
// A result counts only if it is that of the active call. Which call that is, and what is shown, changes under
// one lock; so what is read after `show` has returned never belongs to an earlier URL.

internal import ImgdSystem
internal import ImgdWire

/// A place that shows one picture at a time.
public final class PictureSlot: Sendable {
  /// What a slot shows at one moment.
  public struct Content: Sendable {
    /// How far the slot has got with its URL.
    public enum State: Sendable {
      /// Nothing was asked for, or it was cancelled.
      case idle
      case loading
      case shown
      case failed(any Error)
    }

    /// The URL that was asked for last.
    public fileprivate(set) var url: String?
    /// How far the slot has got with it.
    public fileprivate(set) var state = State.idle
    /// The picture to draw: that of the URL, or until it has come, the placeholder or the picture before.
    public fileprivate(set) var picture: Picture?
    /// What can stand for the picture of the URL, once that is known; with `describe`.
    public fileprivate(set) var placeholder: Placeholder?

    fileprivate mutating func settle(_ outcome: Call.Outcome) {
      switch outcome {
      case .success(let answer):
        let picture = Picture(answer)
        // The program already has that version; the slot shows it if it was the picture before.
        if !picture.isNotModified { self.picture = picture }
        placeholder = picture.placeholder ?? placeholder
        state = .shown
      case .failure(let error): state = .failed(error)
      }
    }
  }

  private struct Active {
    let call: Call
    let url: String
    let options: FetchOptions
  }

  private struct Showing {
    var content = Content()
    var active: Active?
    var readers: [Int: Feed<Content>] = [:]

    mutating func change(_ body: (inout Content) -> Void) {
      body(&content)
      for reader in readers.values { reader.add(content) }
    }
  }

  private let client: Imgd
  private let showing = Locked(Showing())

  /// An empty slot.
  public init(client: Imgd) { self.client = client }

  deinit {
    let (active, readers) = showing.withLock { ($0.active, $0.readers.values) }
    for reader in readers { reader.finish() }
    if let active { client.cancel(active.call) }
  }

  /// What is shown now.
  public var content: Content { showing.withLock { $0.content } }

  /// What is shown now, and then each change. A slow reader gets the newest and not those in between. The
  /// sequence ends with the slot.
  public var contents: SlotContents { SlotContents(begin: { [weak self] in self?.addReader() }) }

  // MARK: Showing

  /// Shows the picture of a URL as soon as it is there.
  ///
  /// While it loads, the placeholder is shown, or without one the picture before. A URL that is already being
  /// loaded with the same options goes on loading. Any other that loads is cancelled, and its result never
  /// shown. Without a URL the state is `failed`.
  public func show(_ url: String?, _ options: FetchOptions = FetchOptions(), placeholder: Picture? = nil) {
    guard let url else {
      let error = ImgdError(.badURL, "a slot without a URL has nothing to show")
      return stop(evenIfIdle: true) { content in
        content = Content(url: nil, state: .failed(error), picture: placeholder ?? content.picture)
      }
    }
    let call = makeCall(url, options)
    let (isNew, earlier) = showing.withLock { showing -> (Bool, Call?) in
      if let active = showing.active, active.url == url, active.options == options { return (false, nil) }
      let earlier = showing.active?.call
      showing.active = Active(call: call, url: url, options: options)
      showing.change { $0 = Content(url: url, state: .loading, picture: placeholder ?? $0.picture) }
      return (true, earlier)
    }
    guard isNew else { return }
    if let earlier { client.cancel(earlier) }
    client.begin(call) { [weak self, id = call.id] in self?.settle(id, $0) }
  }

  /// Cancels what is loading. The picture that is shown stays.
  public func cancel() { stop { $0.state = .idle } }

  private func stop(evenIfIdle: Bool = false, _ body: (inout Content) -> Void) {
    let call = showing.withLock { showing in
      let call = showing.active.take()?.call
      if call != nil || evenIfIdle { showing.change(body) }
      return call
    }
    if let call { client.cancel(call) }
  }

  // MARK: Results

  private func makeCall(_ url: String, _ options: FetchOptions) -> Call {
    var request = options.request(for: url)
    request.events = options.describe
    let id = Call.nextID()
    return Call(.fetch(request), id: id) { [weak self] event in
      if case .placeholder(let placeholder) = FetchUpdate(event) { self?.keep(placeholder, of: id) }
    }
  }

  private func keep(_ placeholder: Placeholder, of call: Int) {
    showing.withLock { showing in
      guard showing.active?.call.id == call else { return }
      showing.change { $0.placeholder = placeholder }
    }
  }

  private func settle(_ call: Int, _ outcome: Call.Outcome) {
    showing.withLock { showing in
      guard showing.active?.call.id == call else { return }
      showing.active = nil
      showing.change { $0.settle(outcome) }
    }
  }

  private func addReader() -> HeldFeed<Content> {
    let feed = Feed<Content> { newest, waiting in waiting = [newest] }
    let number = Call.nextID()
    showing.withLock { showing in
      feed.add(showing.content)
      showing.readers[number] = feed
    }
    return HeldFeed(feed: feed) { [weak self] in self?.showing.withLock { _ = $0.readers.removeValue(forKey: number) } }
  }
}

/// What a slot shows, from one moment on; each iteration begins with what it shows then.
public struct SlotContents: AsyncSequence, Sendable {
  /// What a slot shows at one moment.
  public typealias Element = PictureSlot.Content

  let begin: @Sendable () -> HeldFeed<PictureSlot.Content>?

  /// Begins with what is shown now.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: begin()) }

  /// Reads what a slot shows.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: HeldFeed<PictureSlot.Content>?

    /// The newest content, once it differs from the one read before; nil when the slot is gone, or the task
    /// was cancelled.
    public func next() async -> PictureSlot.Content? {
      // The feed of a slot ends without an error: only a cancelled task throws.
      (try? await reader?.feed.next()) ?? nil
    }
  }
}
