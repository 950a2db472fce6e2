private import CBench
import Glibc

/// Many connections of one user, in a process of their own on the load's processor: what they say, and how fast.
struct Throng {
  var connections = 1
  var user = Besieger.nobody
  /// What each connection says, one part each in turn, all of the same length.
  var parts: [String] = [""]
  /// Bytes said at a time; 0 for as many as the socket takes.
  var piece = 0
  /// Seconds from one connection's piece to its next; 0 for as fast as its socket takes it.
  var interval = 0.0
  /// Each begins anew when it has said all.
  var repeats = false
  /// Answers are read, and thrown away.
  var reads = false
  /// Each closes its connection when it has said all, and makes another one.
  var leaves = false

  /// A crowd whose connections are made.
  final class Presence: SideLoad {
    private let child: Child

    fileprivate init(_ child: Child) { self.child = child }

    func end() throws(BenchFailure) -> String {
      kill(child.pid, SIGTERM)
      guard child.wait() == 0, let line = child.lastWords.split(separator: "\n").last else {
        throw .unavailable("the load has failed: \(child.lastWords)")
      }
      return String(line)
    }
  }

  func gather(_ bench: Bench, at socket: String) throws(BenchFailure) -> any SideLoad {
    let text = bench.path("text")
    try File.write(Array(parts.joined().utf8), to: text)
    let each = interval * 1e9 / Double(connections)
    let child = try bench.serve(
      [Options.own, "crowd", socket, text]
        + [
          connections, user, parts.count, piece, Int(each), repeats ? 1 : 0, reads ? 1 : 0, leaves ? 1 : 0,
        ].map(String.init), "crowd", place: .load)
    try child.awaitReady("the crowd") { [child] in child.lastWords.hasPrefix("ready") }
    return Presence(child)
  }

  /// `crowd SOCKET FILE NUMBER…`: until SIGTERM.
  static func serve(_ words: [String]) throws(BenchFailure) {
    let numbers = words[3...].compactMap { Int($0) }
    guard numbers.count == 8, let text = File.read(words[2]) else { throw .usage("crowd: bad words") }
    _ = bench_raise_descriptor_limit()
    var what = bench_crowd()
    (what.connections, what.user, what.parts) = (CInt(numbers[0]), CInt(numbers[1]), CInt(numbers[2]))
    (what.piece, what.interval_ns) = (numbers[3], UInt64(numbers[4]))
    (what.repeats, what.reads, what.leaves) = (CInt(numbers[5]), CInt(numbers[6]), CInt(numbers[7]))
    var result = bench_crowd_result()
    // The text outlives the call.
    guard unsafe bench_crowd_run(&what, words[1], text, text.count, &result) == 0 else {
      throw .system("crowd", words[1])
    }
    Output.say(
      "\(result.connections) connections, \(result.closed) closed by the server; \(result.said) bytes said, "
        + "\(result.blocked) pieces not taken; \(result.lines) lines read, \(result.refusals) refusals")
  }
}

/// Something that is asked of a server while another client's waits are measured.
protocol SideLoad: AnyObject {
  /// Ends it, with its connections; returns what there is to tell about it.
  func end() throws(BenchFailure) -> String
}
