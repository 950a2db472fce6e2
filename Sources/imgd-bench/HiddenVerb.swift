private import CBench
import Glibc

/// What the bench starts itself as: the floor, the side load of a mixed measurement, and what would
/// be in the way of a load in the same process.
enum HiddenVerb {
  /// Runs a hidden verb and does not return before it ends; false when the words are not one.
  static func run(_ words: [String]) throws(BenchFailure) -> Bool {
    switch words.first {
    case "floor" where words.count == 3: try serveFloor(words[1], replyBytes: Int(words[2]) ?? 0)
    case "feed" where words.count == 5: try feed(words)
    case "multiply" where words.count == 4: try multiply(words)
    case "shrink" where words.count == 4: try shrink(words)
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

  /// `multiply CACHE COUNT rows|files`
  private static func multiply(_ words: [String]) throws(BenchFailure) {
    guard let count = Int(words[2]) else { throw .usage("multiply: bad count") }
    try IndexGrowth.multiply(words[1], to: count, withFiles: words[3] == "files")
  }

  /// `shrink SOCKET CACHE ENTRIES-LEFT`: has the daemon read a configuration that makes it trim, and
  /// says in how many seconds that was done.
  private static func shrink(_ words: [String]) throws(BenchFailure) {
    guard let left = Int(words[3]) else { throw .usage("shrink: bad count") }
    let start = now()
    let reply = ask(words[1], #"{"cmd":"reload"}"#) ?? "nothing"
    guard reply.contains(#""ok":true"#) else { throw .unavailable("imgd said \(reply)") }
    Output.say("\(try IndexGrowth.awaitRemovals(words[2], left: left) - start)")
  }
}
