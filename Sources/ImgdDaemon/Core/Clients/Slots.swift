import ImgdCache
import ImgdWire

/// A connection's named targets, each showing one thing at a time, like an image view.
struct Slots {
  struct Slot {
    let url: String
    /// The receipt of the fetch that came last.
    let receipt: ReceiptID
    /// The state in which that one ended; nil while it is under way.
    var end: FetchJob.State?
    /// The fetches that fill it: more than one when the same was asked for again meanwhile.
    var running: [FetchJob] = []

    var state: FetchJob.State { end ?? running.last?.state ?? .done }
  }

  private(set) var all: [String: Slot] = [:]

  subscript(name: String) -> Slot? { all[name] }

  /// Whether a request asks for what the slot is fetching already.
  func isFetching(_ mergeKey: MergeKey, _ request: FetchRequest, in name: String) -> Bool {
    guard let first = all[name]?.running.first else { return false }
    return first.mergeKey == mergeKey && first.request.hasSameOptions(as: request)
  }

  /// A new name replaces an idle one, once there are `limit`.
  mutating func begin(_ job: FetchJob, in name: String, limit: Int) {
    if all[name] == nil, all.count >= limit, let idle = idleName { all[idle] = nil }
    var running = all[name]?.running ?? []
    running.append(job)
    all[name] = Slot(url: job.url.text, receipt: job.receipt, running: running)
  }

  /// Whether a request may name its slot: one that is there, or one of a bounded number.
  func hasRoom(for name: String?, limit: Int) -> Bool {
    guard let name else { return true }
    return all[name] != nil || all.count < limit || idleName != nil
  }

  private var idleName: String? { all.first { $0.value.running.isEmpty }?.key }

  mutating func end(_ job: FetchJob, as state: FetchJob.State, in name: String) {
    guard var slot = all[name] else { return }
    slot.running.removeAll { $0 === job }
    if slot.receipt == job.receipt { slot.end = state }
    all[name] = slot
  }
}

extension FetchRequest {
  /// Whether two requests for one URL would be answered alike.
  func hasSameOptions(as other: FetchRequest) -> Bool {
    cache == other.cache && delivery == other.delivery && store == other.store
      && format == other.format && resize == other.resize
  }
}
