/// What has become of the requests for pictures so far.
package struct PictureCounters: Equatable, Sendable {
  /// Answers by the first digit of their status.
  package internal(set) var answers: [Int: Int] = [:]
  /// The bytes of pictures that were handed to the server.
  package internal(set) var bytes = 0
  /// Clients that left before they had their answer.
  package internal(set) var departures = 0
  /// Answers for which the daemon was not asked again.
  package internal(set) var heldHits = 0
  package internal(set) var underWay = 0

  mutating func count(_ status: Int) {
    answers[status / 100, default: 0] += 1
  }
}
