import ImgdSystem

/// Finds the running downloads that are slow: less than 16 KiB of them have come in the last second
/// or more.
final class FlowWatch {
  static let window = Duration.seconds(1)
  static let leastBytes = 16 << 10

  private struct Flow {
    /// The time from which bytes are counted, and how many there were.
    var since: Instant
    var counted = 0
    var received = 0
    var isSlow = false
  }

  private var flows: [UInt64: Flow] = [:]

  func beginWatching(_ serial: UInt64, at now: Instant) { flows[serial] = Flow(since: now) }

  func endWatching(_ serial: UInt64) { flows[serial] = nil }

  /// Takes in how far a download has come; true when it was slow and flows again.
  func noteProgress(_ serial: UInt64, received: Int, at now: Instant) -> Bool {
    guard var flow = flows[serial] else { return false }
    flow.received = received
    // A body may begin again from its start.
    flow.counted = min(flow.counted, received)
    let flowsAgain = flow.isSlow && received - flow.counted >= Self.leastBytes
    if flowsAgain { flow = Flow(since: now, counted: received, received: received) }
    flows[serial] = flow
    return flowsAgain
  }

  /// Looks at all of them and returns those that became slow.
  func review(at now: Instant) -> [UInt64] {
    var slow: [UInt64] = []
    for (serial, flow) in flows where now - flow.since >= Self.window {
      let isSlow = Self.isSlow(flow, at: now)
      // A slow download flows again when bytes come, not when time passes.
      if isSlow, !flow.isSlow { slow.append(serial) }
      flows[serial] = Flow(since: now, counted: flow.received, received: flow.received, isSlow: isSlow || flow.isSlow)
    }
    return slow
  }

  private static func isSlow(_ flow: Flow, at now: Instant) -> Bool {
    let milliseconds = (now - flow.since).milliseconds
    return Int64(flow.received - flow.counted) * 1_000 < Int64(leastBytes) * milliseconds
  }
}
