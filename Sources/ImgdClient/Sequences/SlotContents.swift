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
