import ImgdCache
import ImgdSystem
import ImgdWire

/// The fetches of one connection: those that it waits for, those that were begun on it, and its slots.
final class ClientFetches {
  /// The fetches that are answered on this connection, and end with it unless they are detached.
  private var waiting = JobRoll() { didSet { client.awaited = waiting.count } }
  /// How many were begun here and have not ended, including detached ones.
  private var begun = 0
  var slots = Slots()
  private let client: ReplyPlace

  init(of client: ReplyPlace) { self.client = client }

  func hasRoom(inSlot slot: String?, limit: Int) -> Bool { begun < limit && slots.hasRoom(for: slot, limit: limit) }

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

  func takeWaiting() -> JobRoll {
    defer { waiting = JobRoll() }
    return waiting
  }
}

/// A connection's named targets, each showing one thing at a time, like an image view.
struct Slots {
  struct Slot {
    let url: String
    /// The receipt of the fetch that came last.
    let receipt: ReceiptID
    /// The state in which that fetch ended; nil while it is under way.
    var end: FetchState?
    /// The fetches that fill it: more than one when the same thing was asked for again in the meantime.
    var running = JobRoll()
    /// The last one of them.
    var newest: FetchJob?

    var state: FetchState { end ?? newest?.state ?? .done }
  }

  private(set) var all: [String: Slot] = [:]
  /// The names of the slots that nothing fills.
  private var idle: Set<String> = []

  subscript(name: String) -> Slot? { all[name] }

  func isFetching(_ mergeKey: MergeKey, _ request: FetchRequest, in name: String) -> Bool {
    guard let first = all[name]?.running.oldest else { return false }
    // Nobody knows yet whether two descriptors are of the same picture.
    return first.handed == nil && first.requested == mergeKey && first.request.hasSameOptions(as: request)
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

  /// Whether a request may name its slot: one that is there already, or a new one for which there is room.
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

  mutating func takeRunning(in name: String) -> JobRoll {
    defer { all[name]?.running = JobRoll() }
    return all[name]?.running ?? JobRoll()
  }
}

extension FetchRequest {
  /// Whether two requests for one URL would be answered alike.
  func hasSameOptions(as other: FetchRequest) -> Bool {
    cache == other.cache && delivery == other.delivery && store == other.store && form == other.form
      && describe == other.describe
  }
}

// What requests under way hold, and whose they are.
//
// A request counts with its bytes until it ends, even when its connection has gone: ten thousand with header fields
// of 60 KB are half a gigabyte. A user may have a share of the limits for all users together (`Access`).

final class RequestShares {
  struct Holding {
    var requests = 0
    var bytes = 0
  }

  /// What a request is held with beside its weight, in the queue and in the downloader, roughly.
  private static let surroundings = 2_048

  private(set) var total = Holding()
  private var users: [UInt32: Holding] = [:]
  private var bytes: [Claimant: Int] = [:]
  private let access: Access
  let heap: FreedMemory

  init(_ access: Access, loop: EventLoop) {
    self.access = access
    heap = FreedMemory(loop: loop)
  }

  var isEmpty: Bool { users.isEmpty && bytes.isEmpty }

  func holding(of uid: UInt32) -> Holding { users[uid] ?? Holding() }

  func hold(_ job: FetchJob) { change(job, by: 1) }

  func release(_ job: FetchJob) { change(job, by: -1) }

  private func change(_ job: FetchJob, by sign: Int) {
    let weight = sign * job.weight
    total.requests += sign
    total.bytes += weight
    var user = holding(of: job.uid)
    user.requests += sign
    user.bytes += weight
    users[job.uid] = user.requests > 0 ? user : nil
    bytes.countDown(job.claimant, by: -weight)
    heap.note(held: total.bytes + total.requests * Self.surroundings)
  }

  /// Why a request that brings `weight` bytes is not accepted; nil if it is.
  func refusal(of weight: Int, from claimant: Claimant, _ limits: WireLimits) -> WireError? {
    let user = access.share(of: claimant.uid, in: limits.requestBytesOfAll)
    if bytes[claimant, default: 0] + weight > limits.requestBytes {
      return .tooManyRequestBytes(limit: limits.requestBytes, of: .connection)
    }
    if holding(of: claimant.uid).bytes + weight > user {
      return .tooManyRequestBytes(limit: user, of: .user)
    }
    if total.bytes + weight > limits.requestBytesOfAll {
      return .tooManyRequestBytes(limit: limits.requestBytesOfAll, of: .daemon)
    }
    return nil
  }

  /// Why a request that has begun may not wait for a download; nil if it may.
  func refusal(ofWaiting job: FetchJob, limit: Int) -> WireError? {
    let user = access.share(of: job.uid, in: limit)
    if total.requests > limit { return .queueFull(limit: limit) }
    if holding(of: job.uid).requests > user { return .tooManyQueued(limit: user) }
    return nil
  }
}

extension FetchRequest {
  /// Roughly the bytes that the request holds while it is under way, with what the daemon keeps beside it.
  var weight: Int {
    var sum = 512 + 2 * url.utf8.count + (identifier?.utf8.count ?? 0)
    guard hasExtras else { return sum }
    for field in headers { sum += 128 + 2 * field.name.utf8.count + field.value.utf8.count }
    for tag in tags { sum += 32 + tag.utf8.count }
    return sum + (slot?.utf8.count ?? 0) + (share?.utf8.count ?? 0)
  }
}
