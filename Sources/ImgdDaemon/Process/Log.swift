import Glibc
import ImgdSystem

/// What people who look after the machine should know; silent while all is well, however busy.
///
/// Levels say who must act: an error the operator, a warning the operator if it goes on, a notice
/// nobody (the state has changed). In the journal an entry has fields of its own, so that it is
/// found by what it is about; on standard error it is a line.
/// URLs appear without query and fragment: a signed URL is a secret.
/// The control loop's thread logs, and nobody else; tests have a loop on each of their threads.
enum Log {
  /// What an entry is about, in its field IMGD_EVENT.
  enum Subject: String {
    case configuration, start, client, purge, disk, pressure, watchdog, handover
  }

  /// One more field of an entry.
  struct Field {
    let name: StaticString
    let value: String

    static func entries(_ count: Int) -> Field { Field(name: "IMGD_ENTRIES", value: "\(count)") }
    static func bytes(_ count: Int) -> Field { Field(name: "IMGD_BYTES", value: "\(count)") }
    static func source(_ name: String) -> Field { Field(name: "IMGD_SOURCE", value: name) }
    static func uid(_ uid: UInt32) -> Field { Field(name: "IMGD_CLIENT_UID", value: "\(uid)") }
    static func pid(_ pid: Int32) -> Field { Field(name: "IMGD_CLIENT_PID", value: "\(pid)") }
  }

  /// The journal, when standard error leads there. Set once, before the first thread.
  nonisolated(unsafe) private static var journal: JournalSocket?
  private static let limit = Locked(LogLimit())

  /// Sends entries to the journal from here on; to be called before anything starts a thread.
  static func open(_ journal: JournalSocket?) {
    unsafe self.journal = journal
  }

  static func error(_ subject: Subject, _ message: String, _ fields: Field...) {
    write(.error, subject, message, fields)
  }

  static func warning(_ subject: Subject, _ message: String, _ fields: Field...) {
    write(.warning, subject, message, fields)
  }

  static func notice(_ subject: Subject, _ message: String, _ fields: Field...) {
    notice(subject, message, fields)
  }

  static func notice(_ subject: Subject, _ message: String, _ fields: [Field]) {
    write(.notice, subject, message, fields)
  }

  private static func write(
    _ priority: JournalPriority, _ subject: Subject, _ message: String, _ fields: [Field]
  ) {
    switch limit.withLock({ $0.admit(subject, at: .current) }) {
    case .refused: return
    case .admitted(leftOut: 0): break
    case .admitted(let count):
      leave(
        .warning, subject, "left out \(count) entries like the last ones: there were too many", [])
    }
    // What a client, a file or an origin has written may be part of it.
    leave(priority, subject, printable(message), fields)
  }

  private static func leave(
    _ priority: JournalPriority, _ subject: Subject, _ message: String, _ fields: [Field]
  ) {
    let entry = [
      ("MESSAGE", message), ("PRIORITY", "\(priority.rawValue)"), ("SYSLOG_IDENTIFIER", "imgd"),
      ("IMGD_EVENT", subject.rawValue),
    ]
    let more = fields.map { ("\($0.name)", $0.value) }
    if let journal = unsafe journal, journal.send(entry + more) { return }
    writeLine(priority, message)
  }

  private static func writeLine(_ priority: JournalPriority, _ message: String) {
    let level = priority == .notice ? "" : "\(priority): "
    let line = Array("imgd: \(level)\(message)\n".utf8)
    // Nothing can be done about a log that takes nothing.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
