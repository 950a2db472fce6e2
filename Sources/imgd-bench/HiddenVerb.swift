private import CBench
import Glibc

/// What the bench starts itself as: the floor, and the side load of a mixed measurement.
enum HiddenVerb {
  /// Runs a hidden verb and does not return before it ends; false when the words are not one.
  static func run(_ words: [String]) throws(BenchFailure) -> Bool {
    switch words.first {
    case "floor" where words.count == 3: try serveFloor(words[1], replyBytes: Int(words[2]) ?? 0)
    case "feed" where words.count == 5: try feed(words)
    default: return false
    }
    return true
  }

  private static func serveFloor(_ socket: String, replyBytes: Int) throws(BenchFailure) {
    _ = unsafe bench_floor(socket, replyBytes)
    throw .system("floor", socket)
  }

  /// `feed SOCKET REQUEST REQUESTS-PER-SECOND SECONDS`
  private static func feed(_ words: [String]) throws(BenchFailure) {
    guard let rate = Int(words[3]), let seconds = Double(words[4]), rate > 0 else {
      throw .usage("feed: bad rate or duration")
    }
    let load = Load(
      connections: 4, duration: seconds, interval: 1 / Double(rate), framing: .lines)
    let outcome = try load.run(on: words[1], batch: Array((words[2] + "\n").utf8))
    Output.say("replies \(outcome.replies) failures \(outcome.failures)")
  }
}
