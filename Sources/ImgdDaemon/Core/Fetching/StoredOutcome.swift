import ImgdCache
import ImgdSystem

extension FetchOutcome {
  /// The outcome of a fetch that is shown what is stored, under the condition that its client has set.
  init(stored: DeliveredImage, under key: MergeKey, at now: Instant) {
    if let answer = NotModified(stored, under: key.condition, at: now) {
      self = .notModified(answer)
    } else {
      self = .image(stored)
    }
  }
}

extension MergeKey {
  /// The client's own condition, as far as it is for the cache.
  fileprivate var condition: ClientCondition? { headers.isEmpty ? nil : ClientCondition(sent, now: WallClock.seconds) }
}
