import CSystemd
import Glibc
import ImgdSystem

/// How urgent an entry is, by the numbers of syslog.
enum JournalPriority: Int, Sendable {
  case error = 3
  case warning = 4
  case notice = 5
  case debug = 7
}

/// Which file the journal has given a service as its standard output or error.
package struct JournalStream: Sendable, Equatable {
  package let device: UInt
  package let inode: UInt

  /// Reads what the manager writes into JOURNAL_STREAM: `device:inode`, in decimal.
  package init?(text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let device = UInt(parts[0]), let inode = UInt(parts[1]) else { return nil }
    self.device = device
    self.inode = inode
  }

  init?(of descriptor: CInt) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
  }
}

/// The system's journal, which takes entries of several fields.
package struct SystemdJournal: Sendable {
  /// nil unless standard error is a stream to the journal.
  package init?(stream: JournalStream?, standardError: CInt = STDERR_FILENO) {
    guard let stream, stream == JournalStream(of: standardError) else { return nil }
  }

  /// Sends one entry; false when the journal refuses it. Blocks while the journal's queue is full. Names consist of
  /// capitals, digits and underscores; values may be any text.
  func send(_ fields: [(name: String, value: String)]) -> Bool {
    var bytes: [UInt8] = []
    var ends: [Int] = []
    for field in fields {
      bytes += "\(field.name)=\(field.value)".utf8
      ends.append(bytes.count)
    }
    // The pieces point into the bytes, and both live until the call returns.
    let code = unsafe bytes.withUnsafeMutableBytes { room in
      var start = 0
      let pieces = unsafe ends.map { end in
        defer { start = end }
        return unsafe iovec(iov_base: room.baseAddress.map { unsafe $0 + start }, iov_len: end - start)
      }
      return unsafe sd_journal_sendv(pieces, CInt(pieces.count))
    }
    return code == 0
  }
}

/// Writes log entries on a thread of its own, `imgd-journal`, since their reader may be busy. It is not the service
/// thread: a journal that reads nothing must not hold up signs of life. Only a limited number of entries wait; the
/// loss of others is logged when they are read again.
final class LogWriter {
  static let limit = 256

  private let thread: WorkerThread<LogTarget>
  private var lost = 0

  init(_ target: LogTarget, on loop: EventLoop) throws(SystemFailure) {
    thread = try WorkerThread(name: "imgd-journal", on: loop) { target }
  }

  /// Writes an entry as soon as it is taken; an entry beyond the limit is lost.
  func write(_ entry: LogEntry) {
    guard thread.pending < Self.limit else {
      lost += 1
      return
    }
    thread.submit({ entry.write(to: $0) }, then: { [weak self] in self?.reportLoss() })
  }

  func finish(within limit: Duration) {
    reportLoss()
    _ = thread.stop(within: limit)
  }

  private func reportLoss() {
    guard lost > 0 else { return }
    let entry = LogEntry(
      priority: .warning, message: "entries left out because they were not read in time: \(lost)",
      fields: [("IMGD_CODE", Log.Code.entriesLeftOut.rawValue)])
    lost = 0
    thread.submit { entry.write(to: $0) }
  }
}
