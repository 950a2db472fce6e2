private import CBench
import Glibc

/// A client of its own that asks for the same picture by the clock, and what it waits.
struct Witness: Sendable {
  /// Seconds from one request to the next.
  private static let interval = 0.002

  let name: String
  let socket: String
  let request: String
  var framing = Framing.lines

  /// A hit of the daemon, with the line that the library for Swift sends.
  static func hit(_ imgd: Imgd, _ url: String) -> Witness {
    Witness(
      name: "imgd", socket: imgd.socket,
      request:
        #"{"cmd":"fetch","id":1,"url":"\#(url)","deliver":"fd","receipt":"b5c5a3c4-5a3e-4b0e-9d6e-0f8a3f1c2d4e"}"#
        + "\n", framing: .descriptors)
  }

  /// A witness that has begun to ask.
  struct Post {
    fileprivate let child: Child

    /// Ends it, when all that was due has been answered, and returns the waits.
    func end() throws(BenchFailure) -> Waits {
      kill(child.pid, SIGTERM)
      guard child.wait() == 0, let line = child.lastWords.split(separator: "\n").last, let waits = Waits(line)
      else { throw .unavailable("the witness was not answered: \(child.lastWords)") }
      guard waits.failures == 0 else { throw .unavailable("\(waits.failures) requests of the witness were refused") }
      return waits
    }
  }

  func begin(_ bench: Bench) throws(BenchFailure) -> Post {
    let child = try bench.serve(
      [Options.own, "witness", socket, request, framing.rawValue], "witness", place: .load)
    try child.awaitReady("the witness") { [child] in !child.lastWords.isEmpty }
    return Post(child: child)
  }

  /// `witness SOCKET REQUEST FRAMING`: until SIGTERM. It goes before everything else on the load's processor.
  static func serve(_ words: [String]) throws(BenchFailure) {
    guard let framing = Framing(rawValue: words[3]) else { throw .usage("witness: bad framing") }
    bench_go_first()
    Output.say("watching")
    let load = Load(interval: interval, patience: 120, endsOnSignal: true, framing: framing)
    Output.say(Waits(try load.run(on: words[1], batch: Array(words[2].utf8))).line)
  }
}
