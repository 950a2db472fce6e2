private import CBench
import Glibc

/// The framing of a server's replies.
enum Framing: String {
  case lines, bulks, pages, descriptors, touchedDescriptors, mappedDescriptors

  fileprivate var code: CInt {
    switch self {
    case .lines: CInt(BENCH_LINES)
    case .bulks: CInt(BENCH_BULKS)
    case .pages: CInt(BENCH_PAGES)
    case .descriptors: CInt(BENCH_FDS)
    case .touchedDescriptors: CInt(BENCH_FDS_TOUCHED)
    case .mappedDescriptors: CInt(BENCH_FDS_MAPPED)
    }
  }
}

/// A number of connections, each of which sends a batch and waits for its replies.
struct Load {
  var connections = 1
  /// The bytes are divided into so many batches of equal length, used in turn over all connections.
  var parts = 1
  /// The replies to one batch.
  var replies = 1
  /// The batches of each connection; 0 for as many as fit into the duration.
  var batches = 0
  var duration = 0.0
  /// Seconds between the starts of batches over all connections; 0 for as fast as replies arrive.
  var interval = 0.0
  /// Seconds for which no reply may come; 0 for the usual ones.
  var patience = 0.0
  /// It goes on until SIGTERM, instead of for a duration.
  var endsOnSignal = false
  var framing = Framing.lines

  func run(on socket: String, batch: [UInt8]) throws(BenchFailure) -> LoadResult {
    var load = bench_load()
    load.framing = framing.code
    load.connections = CInt(connections)
    load.parts = CInt(parts)
    load.replies = CInt(replies)
    load.batches = UInt64(batches)
    load.duration_ns = UInt64(duration * 1e9)
    load.interval_ns = UInt64(interval * 1e9)
    load.patience_ns = UInt64(patience * 1e9)
    load.ends_on_signal = endsOnSignal ? 1 : 0
    var result = bench_result()
    // The batch outlives the call, which keeps no pointer to it.
    guard unsafe bench_run(&load, socket, batch, batch.count, &result) == 0 else {
      throw .system("load", socket)
    }
    return LoadResult(result)
  }
}

/// The result of a load.
struct LoadResult {
  let replies: Int
  let failures: Int
  let descriptors: Int
  let seconds: Double
  /// The share of the time in which the load itself was busy: near 1, the load was the limit.
  let loadShare: Double
  let p50: Double
  let p99: Double
  let p999: Double
  let worst: Double

  fileprivate init(_ result: bench_result) {
    replies = Int(result.replies)
    failures = Int(result.failures)
    descriptors = Int(result.descriptors)
    seconds = Double(result.elapsed_ns) / 1e9
    loadShare = Double(result.busy_ns) / Double(max(result.elapsed_ns, 1))
    p50 = Double(result.p50_ns) / 1e9
    p99 = Double(result.p99_ns) / 1e9
    p999 = Double(result.p999_ns) / 1e9
    worst = Double(result.max_ns) / 1e9
  }

  var perSecond: Double { Double(replies) / seconds }
}

/// Whether a socket accepts connections.
func isListening(_ socket: String) -> Bool {
  // The path is read before the call returns.
  let connection = unsafe bench_connect(socket)
  if connection >= 0 { close(connection) }
  return connection >= 0
}

/// Sends one line to a socket and returns the reply; nil when there is none.
func ask(_ socket: String, _ line: String) -> String? {
  var reply = [CChar](repeating: 0, count: 1 << 16)
  // bench_ask writes at most the capacity and returns the length.
  let count = unsafe bench_ask(socket, line, &reply, reply.count)
  guard count >= 0 else { return nil }
  return String(decoding: reply[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Seconds on a clock that only goes forward.
func now() -> Double { Double(bench_now_ns()) / 1e9 }

/// Pins the bench itself to the processor that the servers do not use.
func pinLoad(_ isPinned: Bool) {
  bench_pin(isPinned && bench_processors() > 1 ? Place.load.processor : -1)
}
