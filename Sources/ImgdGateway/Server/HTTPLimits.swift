/// What a server puts up with from its clients.
package struct HTTPLimits {
  /// Connections at one time; further ones wait in the kernel's queue.
  package var connections = 1_024
  /// The time from a connection until its first request has come whole, however slowly it comes. Later
  /// requests have this much in addition to `idleTimeout`.
  package var headTimeout = Duration.seconds(30)
  /// The time without a byte in either direction, in whole seconds.
  package var idleTimeout = Duration.seconds(30)
  /// The time that answers under way have after `close`.
  package var closingTimeout = Duration.seconds(5)

  package init() {}
}

/// What a server has done since it was started.
package struct HTTPCounters: Equatable {
  /// Connections that are open now.
  package internal(set) var connections = 0
  package internal(set) var accepted = 0
  /// Connections closed at once, for want of a descriptor or memory.
  package internal(set) var refused = 0
  /// Requests whose head was sound.
  package internal(set) var requests = 0
  /// Requests whose head was not sound, or did not come whole.
  package internal(set) var malformed = 0
  /// Clients that left before they had their answer.
  package internal(set) var left = 0
  /// Answers by the first digit of their status, from 1 to 5.
  package internal(set) var answers = [Int](repeating: 0, count: 5)

  package init() {}

  mutating func countAnswer(_ status: Int) {
    let index = status / 100 - 1
    if answers.indices.contains(index) { answers[index] += 1 }
  }
}
