private import CBench
import Glibc

/// Verbs by which the bench starts itself as another process: the floor, a side load, and tasks that
/// would disturb a load in the same process.
enum HiddenVerb {
  /// Runs a hidden verb to its end; false if there is no such verb.
  static func run(_ words: [String]) throws(BenchFailure) -> Bool {
    switch words.first {
    case "floor" where words.count == 3: try serveFloor(words[1], replyBytes: Int(words[2]) ?? 0)
    case "feed" where words.count == 5: try feed(words)
    case "shrink" where words.count == 4: try shrink(words)
    case "watch" where words.count == 5: try Watch.serve(words)
    case "witness" where words.count == 4: try Witness.serve(words)
    case "crowd" where words.count == 11: try Throng.serve(words)
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

  /// `shrink SOCKET CACHE ENTRIES-LEFT`: reloads the daemon with a configuration that makes it trim,
  /// and prints how many seconds that took, until the files are gone.
  private static func shrink(_ words: [String]) throws(BenchFailure) {
    guard let left = Int(words[3]) else { throw .usage("shrink: bad count") }
    let socket = words[1]
    var files = try FileRemovals(in: words[2])
    let before = try Imgd.stat("disk", "entries", of: socket)
    let start = now()
    try Imgd.expect(#"{"cmd":"reload"}"#, of: socket)
    var entries = before
    while entries > left {
      usleep(2_000)
      try files.note()
      entries = try Imgd.stat("disk", "entries", of: socket)
    }
    try files.await(before - entries)
    Output.say("\(now() - start)")
  }
}
