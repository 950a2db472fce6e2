/// The fetches of one connection: those that it waits for, those that were begun on it, and its
/// slots.
final class ClientFetches {
  /// The fetches that are answered on this connection, and end with it unless they are detached.
  private var waiting = JobRoll() { didSet { client.awaited = waiting.count } }
  /// How many were begun here and have not ended, including detached ones.
  private var begun = 0
  private(set) var slots = Slots()
  private let client: ReplyPlace

  init(of client: ReplyPlace) { self.client = client }

  /// Whether one more may begin, in a slot of that name.
  func hasRoom(inSlot slot: String?, limit: Int) -> Bool { begun < limit && slots.hasRoom(for: slot, limit: limit) }

  /// The fetches that run in a slot.
  func running(inSlot name: String) -> JobRoll { slots[name]?.running ?? JobRoll() }

  func begin(_ job: FetchJob, limit: Int) {
    waiting.add(job)
    begun += 1
    if let slot = job.slot { slots.begin(job, in: slot, limit: limit) }
  }

  /// Notes that the answer no longer goes over this connection.
  func detach(_ job: FetchJob) { waiting.remove(job) }

  func remove(_ job: FetchJob, endedAs state: FetchState) {
    begun -= 1
    if let slot = job.slot { slots.remove(job, endedAs: state, from: slot) }
  }

  /// Hands out all fetches that wait, and forgets them.
  func takeWaiting() -> JobRoll {
    defer { waiting = JobRoll() }
    return waiting
  }

  /// Hands out the fetches of a slot that shows something else from now on.
  func takeRunning(inSlot name: String) -> JobRoll { slots.takeRunning(in: name) }
}
