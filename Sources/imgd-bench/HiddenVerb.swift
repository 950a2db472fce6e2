private import CBench
import Glibc

/// Verbs by which the bench starts itself as another process: the floor, a side load, and tasks that
/// would disturb a load in the same process.
enum HiddenVerb {
  /// Runs a hidden verb to its end; false when the words are none.
  static func run(_ words: [String]) throws(BenchFailure) -> Bool {
    switch words.first {
    case "floor" where words.count == 3: try serveFloor(words[1], replyBytes: Int(words[2]) ?? 0)
    case "feed" where words.count == 5: try feed(words)
    case "multiply" where words.count == 4: try multiply(words)
    case "shrink" where words.count == 4: try shrink(words)
    case "watch" where words.count == 5: try Watch.serve(words)
    case "repeat" where words.count == 5: try HitsBesideDecoding.repeatRequests(words)
    case "draw" where words.count == 7: try PictureSet.draw(words)
    case "decode-files" where words.count > 3: try PictureSet.decode(words)
    case "origin" where words.count == 7: try Origin.serve(words)
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

  /// `shrink SOCKET CACHE ENTRIES-LEFT`: reloads the daemon with a configuration that makes it trim,
  /// and prints how many seconds that took.
  private static func shrink(_ words: [String]) throws(BenchFailure) {
    guard let left = Int(words[3]) else { throw .usage("shrink: bad count") }
    let start = now()
    let reply = ask(words[1], #"{"cmd":"reload"}"#) ?? "nothing"
    guard reply.contains(#""ok":true"#) else { throw .unavailable("imgd said \(reply)") }
    Output.say("\(try IndexGrowth.awaitRemovals(words[2], left: left) - start)")
  }
}
