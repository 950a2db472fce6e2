// What requests under way hold, and whose they are.
//
// A request counts from the moment it is accepted to its end, even when it is detached and its connection has gone. It
// counts with its bytes: ten thousand small ones are nothing, ten thousand with header fields of 60 KB are half a
// gigabyte. A user may have a share of the limits for all users together (`Access`).

import ImgdSystem
import ImgdWire

/// The requests under way, by connection and by user.
final class RequestShares {
  struct Holding {
    var requests = 0
    var bytes = 0
  }

  private(set) var total = Holding()
  private var users: [UInt32: Holding] = [:]
  private var bytes: [Claimant: Int] = [:]
  private let access: Access
  private let heap: FreedMemory

  init(_ access: Access, loop: EventLoop) {
    self.access = access
    heap = FreedMemory(loop: loop)
  }

  /// Whether nothing is remembered about anybody.
  var isEmpty: Bool { users.isEmpty && bytes.isEmpty }

  // MARK: Beginning and ending

  func hold(_ job: FetchJob) { change(job, by: 1) }

  func release(_ job: FetchJob) { change(job, by: -1) }

  private func change(_ job: FetchJob, by sign: Int) {
    let weight = sign * job.weight
    total.requests += sign
    total.bytes += weight
    var user = users[job.uid] ?? Holding()
    user.requests += sign
    user.bytes += weight
    users[job.uid] = user.requests > 0 ? user : nil
    let held = bytes[job.claimant, default: 0] + weight
    bytes[job.claimant] = held > 0 ? held : nil
    heap.note(held: total.bytes)
  }

  // MARK: Limits

  /// Why a request that brings `weight` bytes is not accepted; nil if it is.
  func refusal(of weight: Int, from claimant: Claimant, _ limits: WireLimits) -> WireError? {
    let user = access.share(of: claimant.uid, in: limits.requestBytesOfAll)
    if bytes[claimant, default: 0] + weight > limits.requestBytes {
      return .tooManyRequestBytes(limit: limits.requestBytes, of: .connection)
    }
    if users[claimant.uid, default: Holding()].bytes + weight > user {
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
    if users[job.uid, default: Holding()].requests > user { return .tooManyQueued(limit: user) }
    return nil
  }
}

extension FetchRequest {
  /// Roughly the bytes that the request holds while it is under way: its texts, some of them twice, and what the daemon
  /// keeps with each.
  var weight: Int {
    var sum = 512 + 2 * url.utf8.count + (identifier?.utf8.count ?? 0)
    guard hasExtras else { return sum }
    for field in headers { sum += 128 + 2 * field.name.utf8.count + field.value.utf8.count }
    for tag in tags { sum += 32 + tag.utf8.count }
    return sum + (slot?.utf8.count ?? 0) + (share?.utf8.count ?? 0)
  }
}
