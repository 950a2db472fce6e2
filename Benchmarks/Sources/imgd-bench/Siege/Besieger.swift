private import CBench
import Glibc

/// The attacking client: connections that say much at once, and read every answer.
///
/// What each says ends with a ping, whose answer shows that the daemon has taken in all before it,
/// however it has answered. A refusal is as good an answer as any: the attack is what is sent.
@safe final class Besieger {
  /// The user that an attacker is, where the bench is root.
  static let nobody = 65_534

  /// The end of what a connection says.
  private static let end = #"{"cmd":"ping","id":"end"}"# + "\n"
  /// Seconds in which an attack must have been taken in.
  private static let patience = 120.0

  private let connections: Int
  private var flood: OpaquePointer?

  init(_ imgd: Imgd, connections: Int = 1, user: Int = nobody) throws(BenchFailure) {
    self.connections = connections
    // The path is read before the call returns.
    unsafe flood = bench_flood_open(imgd.socket, CInt(connections), CInt(user))
    guard unsafe flood != nil else { throw .system("connect", imgd.socket) }
  }

  deinit { leave() }

  /// Closes all connections, with what is under way on them.
  func leave() {
    guard let open = unsafe flood else { return }
    unsafe bench_flood_close(open)
    unsafe flood = nil
  }

  /// Every connection says the same, and is answered.
  func say(_ lines: [String]) throws(BenchFailure) {
    try say(parts: [lines])
  }

  /// The connections say one part each in turn, all of the same length, and are answered.
  func say(parts: [[String]]) throws(BenchFailure) {
    guard let flood = unsafe flood else { return }
    let texts = parts.map { Array(($0.joined(separator: "\n") + "\n" + Self.end).utf8) }
    precondition(texts.allSatisfy { $0.count == texts[0].count }, "parts of unequal length")
    var bytes: [UInt8] = []
    for text in texts { bytes += text }
    // The bytes are copied before the call returns.
    guard unsafe bench_flood_say(flood, bytes, bytes.count, CInt(parts.count)) == 0 else {
      throw .system("flood", "\(connections) connections")
    }
    try receive(lines: 0)
  }

  /// Waits until so many lines have come in all.
  func receive(lines: Int) throws(BenchFailure) {
    guard let flood = unsafe flood else { return }
    // The pointer is this object's own.
    let patience = UInt64(Self.patience * 1e9)
    guard unsafe bench_flood_await(flood, UInt64(lines), patience) == 0 else {
      throw .system("the attacker's answers", "\(tally.lines) lines")
    }
  }

  /// Reads for so long all that comes.
  func read(for seconds: Double) {
    guard let flood = unsafe flood else { return }
    _ = unsafe bench_flood_await(flood, UInt64.max, UInt64(seconds * 1e9))
  }

  /// What has come so far.
  var tally: (lines: Int, bytes: Int, refusals: Int, closed: Int) {
    guard let flood = unsafe flood else { return (0, 0, 0, 0) }
    let result = unsafe bench_flood_tally(flood)
    return (Int(result.lines), Int(result.bytes), Int(result.refusals), Int(result.closed))
  }
}

extension Siege {
  /// Tells what the attacker has got.
  func note(_ besieger: Besieger) {
    let tally = besieger.tally
    bench.report.note(
      "the attacker: \(tally.lines) lines of \(Figure(Double(tally.bytes), "B").text), "
        + "\(tally.refusals) refusals, \(tally.closed) connections closed")
  }
}
