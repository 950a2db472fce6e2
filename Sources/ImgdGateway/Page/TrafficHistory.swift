import ImgdConnection
import ImgdWire

/// The last five minutes of the counters that the page plots, so that a page that is opened shows them at once.
struct TrafficHistory {
  /// Five minutes with one sample each second.
  static let longest = 300
  private static let span = 300_000

  private struct Sample {
    /// Milliseconds since 1970.
    let time: Int
    let process: Int
    let hits: Int
    let lookups: Int
    let received: Int
  }

  private var samples: [Sample] = []

  /// Adds the counters as they were at a time, in milliseconds since 1970.
  mutating func add(_ statistics: DaemonStatistics, at time: Int) {
    let isOld = samples.prefix { $0.time < time - Self.span }.count
    samples.removeFirst(max(isOld, samples.count - Self.longest + 1))
    samples.append(
      Sample(
        time: time, process: statistics.number("process", "pid"), hits: statistics.hits,
        lookups: statistics.lookups("memory"), received: statistics.number("downloads", "bytes_received")))
  }

  /// An array with one array for each sample: time, process, hits, look-ups, bytes received.
  func write(to line: inout JSONWriter) {
    line.beginArray()
    for sample in samples { Self.write(sample, to: &line) }
    line.endArray()
  }

  /// The newest sample alone.
  func writeLast(to line: inout JSONWriter) {
    guard let sample = samples.last else { return line.null() }
    Self.write(sample, to: &line)
  }

  private static func write(_ sample: Sample, to line: inout JSONWriter) {
    line.beginArray()
    for number in [sample.time, sample.process, sample.hits, sample.lookups, sample.received] { line.value(number) }
    line.endArray()
  }
}
