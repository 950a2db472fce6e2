import Glibc

/// Another client, in a process of its own: one connection, or some, that ask the same again and again.
struct Watch {
  private let child: Child

  /// It asks every `interval` seconds; with 0 each connection as soon as it has its answer.
  init(
    _ bench: Bench, _ socket: String, _ request: String, every interval: Double,
    connections: Int = 1
  ) throws(BenchFailure) {
    child = try bench.serve(
      [
        Options.own, "watch", socket, request, "\(Int(interval * 1e6))",
        "\(connections)",
      ], "watch", place: .anywhere)
    try child.awaitReady("the watch") { [child] in !child.lastWords.isEmpty }
  }

  /// Ends it, when all that was due has been answered, and returns the waits.
  func end() throws(BenchFailure) -> Waits {
    kill(child.pid, SIGTERM)
    guard child.wait() == 0, let line = child.lastWords.split(separator: "\n").last,
      let waits = Waits(line)
    else { throw .unavailable("the other client was not answered: \(child.lastWords)") }
    return waits
  }

  /// `watch SOCKET REQUEST MICROSECONDS CONNECTIONS`: until SIGTERM.
  static func serve(_ words: [String]) throws(BenchFailure) {
    guard let interval = Double(words[3]), let connections = Int(words[4]) else {
      throw .usage("watch: bad interval or number")
    }
    // Its own wait for a processor is not the daemon's. Without the privilege it is measured all the same.
    setpriority(CInt(PRIO_PROCESS.rawValue), 0, -15)
    Output.say("watching")
    let load = Load(
      connections: connections, interval: interval / 1e6, patience: 120, endsOnSignal: true)
    let result = try load.run(on: words[1], batch: Array((words[2] + "\n").utf8))
    Output.say(Waits(result).line)
  }
}

/// How long requests waited for their answers, in seconds.
struct Waits {
  let p50: Double
  let p99: Double
  let p999: Double
  let worst: Double
  let replies: Int
  let failures: Int

  init(_ result: LoadResult) {
    (p50, p99, p999, worst) = (result.p50, result.p99, result.p999, result.worst)
    (replies, failures) = (result.replies, result.failures)
  }

  init?(_ line: Substring) {
    let words = line.split(separator: " ")
    guard words.count == 6, let p50 = Double(words[0]), let p99 = Double(words[1]), let p999 = Double(words[2]),
      let worst = Double(words[3]), let replies = Int(words[4]), let failures = Int(words[5])
    else { return nil }
    (self.p50, self.p99, self.p999, self.worst) = (p50, p99, p999, worst)
    (self.replies, self.failures) = (replies, failures)
  }

  var line: String { "\(p50) \(p99) \(p999) \(worst) \(replies) \(failures)" }
}
