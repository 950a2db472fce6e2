internal import ImgdSystem

/// What a slot shows, from one moment on; each iteration begins with what it shows then.
public struct SlotContents: AsyncSequence, Sendable {
  /// What a slot shows at one moment.
  public typealias Element = PictureSlot.Content

  let begin: @Sendable () -> SlotReader?

  /// Begins with what is shown now.
  public func makeAsyncIterator() -> Iterator {
    Iterator(reader: begin())
  }

  /// Reads what a slot shows.
  public struct Iterator: AsyncIteratorProtocol {
    let reader: SlotReader?

    /// The newest content, once it differs from the one read before; nil when the slot is gone, or the task
    /// was cancelled.
    public func next() async -> PictureSlot.Content? {
      await reader?.next()
    }
  }
}

/// A reader of a slot, which the slot forgets with its iterator.
final class SlotReader: Sendable {
  private let feed: Feed<PictureSlot.Content>
  private let end: @Sendable () -> Void

  init(feed: Feed<PictureSlot.Content>, end: @escaping @Sendable () -> Void) {
    self.feed = feed
    self.end = end
  }

  deinit { end() }

  func next() async -> PictureSlot.Content? {
    // The feed of a slot ends without an error: only a cancelled task throws.
    (try? await feed.next()) ?? nil
  }
}
