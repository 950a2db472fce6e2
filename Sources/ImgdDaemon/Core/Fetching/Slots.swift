import ImgdCache
import ImgdWire

/// A connection's named targets, each showing one thing at a time, like an image view.
struct Slots {
  struct Slot {
    let url: String
    /// The receipt of the fetch that came last.
    let receipt: ReceiptID
    /// The state in which that fetch ended; nil while it is under way.
    var end: FetchState?
    /// The fetches that fill it: more than one when the same thing was asked for again in the
    /// meantime.
    var running = JobRoll()
    /// The last one of them.
    var newest: FetchJob?

    var state: FetchState { end ?? newest?.state ?? .done }

    mutating func takeRunning() -> JobRoll {
      defer { running = JobRoll() }
      return running
    }
  }

  private(set) var all: [String: Slot] = [:]
  /// The names of the slots that nothing fills.
  private var idle: Set<String> = []

  subscript(name: String) -> Slot? { all[name] }

  /// Whether a request asks for what the slot is fetching already.
  func isFetching(_ mergeKey: MergeKey, _ request: FetchRequest, in name: String) -> Bool {
    guard let first = all[name]?.running.oldest else { return false }
    return first.requested == mergeKey && first.request.hasSameOptions(as: request)
  }

  /// Adds a fetch to a slot; once there are `limit` slots, a new name replaces an idle one.
  mutating func begin(_ job: FetchJob, in name: String, limit: Int) {
    if all[name] == nil, all.count >= limit, let idle = idle.popFirst() { all[idle] = nil }
    idle.remove(name)
    // Taken out of its place, the roll is not copied.
    var running = takeRunning(in: name)
    running.add(job)
    all[name] = Slot(url: job.url.text, receipt: job.receipt, running: running, newest: job)
  }

  /// Whether a request may name its slot: one that is there already, or a new one for which there
  /// is room.
  func hasRoom(for name: String?, limit: Int) -> Bool {
    guard let name else { return true }
    return all[name] != nil || all.count < limit || !idle.isEmpty
  }

  mutating func remove(_ job: FetchJob, endedAs state: FetchState, from name: String) {
    all[name]?.running.remove(job)
    if all[name]?.running.isEmpty == true { idle.insert(name) }
    guard all[name]?.newest === job else { return }
    all[name]?.end = state
    all[name]?.newest = nil
  }

  /// Hands out the fetches of a slot, which has none afterwards.
  mutating func takeRunning(in name: String) -> JobRoll { all[name]?.takeRunning() ?? JobRoll() }
}

extension FetchRequest {
  /// Whether two requests for one URL would be answered alike.
  func hasSameOptions(as other: FetchRequest) -> Bool {
    cache == other.cache && delivery == other.delivery && store == other.store && rendition == other.rendition
      && describe == other.describe
  }
}
