// The way of a line: the thread that has answered hands over what it knows, without looking at it; a thread of the log
// makes a line of that and writes it. So a disk or a reader of standard output that is slow holds up no answer. What
// waits has a limit: beyond it lines are lost, and counted.
//
// The log's thread is not woken for each line: once woken it gathers lines for a moment.

import Glibc
import ImgdProgram
package import ImgdSystem
import Synchronization

/// The log of requests, written by a thread of its own.
package final class AccessLog: Sendable {
  /// How a line looks.
  package enum Form: String, CaseIterable, Sendable { case json, combined }

  /// The most bytes of entries that wait to be written.
  static let mostWaiting = 4 << 20
  /// How long lines are gathered after a batch.
  private static let pause = Duration.milliseconds(50)

  private struct Waiting: Sendable {
    var entries: [AccessEntry] = []
    var bytes = 0
    var lost = 0
    /// Whether the thread sleeps until there is a line.
    var isIdle = false
    var isClosed = false
    var hasEnded = false

    /// All that waits; `.some(nil)` after the end, nil while there is nothing.
    mutating func takeAll() -> [AccessEntry]?? {
      guard entries.isEmpty else {
        bytes = 0
        defer { entries = [] }
        return entries
      }
      isIdle = !isClosed
      return isClosed ? .some(nil) : nil
    }
  }

  /// Of the answers that are no failures, one of so many is logged.
  private let sample: Int
  private let answers = Atomic(0)
  private let waiting = Locked(Waiting())

  /// Begins to log, into the file of a path, or to standard output without one.
  package init(as form: Form, into path: String?, sample: Int = 1) throws(SystemFailure) {
    self.sample = sample
    // Said at the start, and not with the first line.
    try LogFile(path).openIfMoved()
    _ = try Thread(name: "imgd-http-log") { [waiting] in
      let file = LogFile(path)
      while let batch = waiting.wait(for: { $0.takeAll() }) {
        if !file.write(batch.flatMap { $0.line(as: form) }) { waiting.withLock { $0.lost += batch.count } }
        _ = waiting.wait(until: .current + Self.pause) { $0.isClosed ? true : nil }
      }
      waiting.broadcast { $0.hasEnded = true }
    }
  }

  deinit { waiting.broadcast { $0.isClosed = true } }

  /// Lines that were lost: the log could not be written, or not so fast.
  package var lost: Int { waiting.withLock { $0.lost } }

  /// Whether an answer with this status is to be logged.
  func wants(_ status: Int) -> Bool {
    sample == 1 || status >= 500
      || answers.wrappingAdd(1, ordering: .relaxed).oldValue.isMultiple(of: sample)
  }

  /// Hands a line over.
  package func append(_ entry: AccessEntry) {
    let isIdle = waiting.withLock { waiting in
      guard waiting.bytes + entry.weight <= Self.mostWaiting else {
        waiting.lost += 1
        return false
      }
      waiting.entries.append(entry)
      waiting.bytes += entry.weight
      defer { waiting.isIdle = false }
      return waiting.isIdle
    }
    if isIdle { waiting.signal { _ in } }
  }

  /// Waits until all lines are written, but no longer than the limit: for the end of the process.
  package func finish(within limit: Duration) {
    waiting.broadcast { $0.isClosed = true }
    _ = waiting.wait(until: .current + limit) { $0.hasEnded ? true : nil }
  }
}

/// The file of the log, for its thread. What rotates logs need not say so: before each batch the file is opened anew if
/// its name stands for another one by now, or for none.
private final class LogFile {
  /// Nil for standard output.
  private let path: String?
  private var file: SharedDescriptor?
  private var identity: FileStatus.Identity?
  private var hasFailed = false

  init(_ path: String?) { self.path = path }

  func openIfMoved() throws(SystemFailure) {
    guard let path else { return }
    if let identity, (try? FileStatus.of(path: path))?.identity == identity { return }
    file = nil
    let new = try FileDescriptor(opening: path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    let status = try new.status(path)
    guard status.kind == .regular else { throw SystemFailure("write to", path, errno: EINVAL) }
    identity = status.identity
    file = SharedDescriptor(new)
  }

  /// Appends lines; false if they are lost, which the journal says once.
  func write(_ bytes: [UInt8]) -> Bool {
    do throws(SystemFailure) {
      try openIfMoved()
      try writeAll(bytes)
      hasFailed = false
    } catch {
      if !hasFailed {
        Log.warning(
          .configuration, .accessLogFailed, "the access log cannot be written, and lines are lost: \(error.reason)")
      }
      hasFailed = true
    }
    return !hasFailed
  }

  private func writeAll(_ bytes: [UInt8]) throws(SystemFailure) {
    let number = file?.descriptor.number ?? STDOUT_FILENO
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
      guard written > 0 || errno == EINTR else { throw SystemFailure("write", path ?? "standard output") }
      rest = rest.dropFirst(max(written, 0))
    }
  }
}
