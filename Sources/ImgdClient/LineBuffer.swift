/// Bytes that have arrived, given out as lines.
struct LineBuffer {
  private var bytes: [UInt8] = []
  private var start = 0
  /// Up to here there is no line end; a long line that comes in pieces is searched once.
  private var searched = 0

  /// How many bytes wait for the end of their line.
  var count: Int { bytes.count - start }

  mutating func append(_ more: [UInt8]) {
    if start > 0 {
      bytes.removeFirst(start)
      searched -= start
      start = 0
    }
    bytes += more
  }

  /// The next whole line, without its end; nil when there is none yet.
  mutating func nextLine() -> [UInt8]? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      return nil
    }
    let line = Array(bytes[start..<end])
    start = end + 1
    searched = start
    return line
  }
}
