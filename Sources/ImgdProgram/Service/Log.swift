import Glibc
package import ImgdSystem
internal import ImgdWire

/// A program's log for administrators; it stays empty in normal operation, however busy. Levels say who must act: on
/// an error the operator, on a warning the operator if it persists, on a notice nobody (the state has changed). Debug
/// entries, one for each request, are written on demand (`--verbose`). In the journal an entry has fields of its own,
/// so that it is found by its subject; on standard error it is a line, and on standard output a line of JSON. URLs appear
/// without query and fragment: a signed URL is a secret. Only the control loop's thread logs; tests have a loop on each of their threads.
package enum Log {
  /// The subject of an entry, in its field IMGD_EVENT.
  package enum Subject: String {
    case fetch, configuration, start, client, purge, disk, pressure, watchdog, handover, decoder, fleet
  }

  /// What has failed, was refused or is doubtful, in the field IMGD_CODE: each error and each warning has one, and imgd(8)
  /// says of each what it means.
  package enum Code: String, CaseIterable {
    case settingDoubtful = "setting_doubtful", reloadRefused = "reload_refused"
    case originFileUnusable = "origin_file_unusable", userUnknown = "user_unknown"
    case descriptorsFew = "descriptors_few", inheritanceUnknown = "inheritance_unknown"
    case diskUnavailable = "disk_unavailable", diskTrouble = "disk_trouble", directoryGone = "directory_gone"
    case pictureDamaged = "picture_damaged", handoverRefused = "handover_refused"
    case decoderUnavailable = "decoder_unavailable", decoderBroke = "decoder_broke"
    case fleetDown = "fleet_down", fleetReadOnly = "fleet_read_only", fleetRefused = "fleet_refused"
    case fleetUnlisted = "fleet_unlisted", purgesMissed = "purges_missed", purgesMerged = "purges_merged"
    case purgesUnreadable = "purges_unreadable", purgesWaiting = "purges_waiting"
    case clientStalled = "client_stalled", threadSilent = "thread_silent", routesUnseen = "routes_unseen"
    case accessLogFailed = "access_log_failed", entriesLeftOut = "entries_left_out"
  }

  /// An additional field of an entry.
  package struct Field {
    package let name: StaticString
    package let value: String

    /// What has failed, for a notice: errors and warnings have it anyway.
    package static func code(_ code: Code) -> Field { Field(name: "IMGD_CODE", value: code.rawValue) }
    /// How many entries of the cache the message is about.
    package static func entries(_ count: Int) -> Field { Field(name: "IMGD_ENTRIES", value: "\(count)") }
    /// How many bytes the message is about.
    package static func bytes(_ count: Int) -> Field { Field(name: "IMGD_BYTES", value: "\(count)") }
    /// The part of the machine that has reported the event.
    package static func source(_ name: String) -> Field { Field(name: "IMGD_SOURCE", value: name) }
    /// The user of the client that the message is about.
    package static func uid(_ uid: UInt32) -> Field { Field(name: "IMGD_CLIENT_UID", value: "\(uid)") }
    /// The process of the client that the message is about.
    package static func pid(_ pid: Int32) -> Field { Field(name: "IMGD_CLIENT_PID", value: "\(pid)") }
  }

  /// Set once, before the first thread.
  nonisolated(unsafe) private static var target = LogTarget.text
  /// Writes once there is a loop that must not wait for a reader.
  nonisolated(unsafe) private static var writer: LogWriter?
  /// The name under which entries are found. Set once, before the first thread.
  nonisolated(unsafe) private static var program: StaticString = "imgd"
  /// Whether debug entries are written. Set once, before the first thread.
  nonisolated(unsafe) private static var isAskedForAll = false
  private static let limit = Locked(LogLimit())

  /// Whether there is an entry for each request.
  package static var isVerbose: Bool { unsafe isAskedForAll }

  /// The name before each line on standard error.
  static var programName: String { unsafe "\(program)" }

  /// Whether somebody who has started the program by hand is watching.
  package static var isWatched: Bool { unsafe target.isText && isatty(STDERR_FILENO) == 1 }

  /// Sends a program's entries to a target from now on, and its last words to standard error; to be called before
  /// anything starts a thread.
  package static func open(_ target: LogTarget, of program: StaticString) {
    unsafe self.target = target
    unsafe self.program = program
    LastWords.prepare(for: program, isStream: target.isJournal)
  }

  /// Writes debug entries as well; to be called before anything starts a thread.
  package static func includeAll() { unsafe isAskedForAll = true }

  /// Lets another thread wait for who reads the entries from now on.
  package static func writeAside(from loop: EventLoop) throws(SystemFailure) {
    guard unsafe !target.isText else { return }
    unsafe writer = try LogWriter(target, on: loop)
  }

  /// Waits for entries that are not written yet, but no longer than the limit: for the end of the process.
  package static func finish(within limit: Duration) { unsafe writer.take()?.finish(within: limit) }

  /// Logs an entry about which the operator has to do something.
  package static func error(_ subject: Subject, _ code: Code, _ message: String) {
    write(.error, subject, message, [.code(code)])
  }

  /// Logs an entry about which the operator has to do something if it persists.
  package static func warning(_ subject: Subject, _ code: Code, _ message: String) {
    write(.warning, subject, message, [.code(code)])
  }

  /// Logs an entry about a new state.
  package static func notice(_ subject: Subject, _ message: String, _ fields: Field...) {
    notice(subject, message, fields)
  }

  package static func notice(_ subject: Subject, _ message: String, _ fields: [Field]) {
    write(.notice, subject, message, fields)
  }

  /// Logs an entry for people who want to see everything: its message is made only if wanted, and none is left out.
  package static func debug(_ subject: Subject, _ message: () -> String) {
    guard isVerbose else { return }
    write(LogEntry(.debug, subject, printable(message()), []))
  }

  /// Says why a start has failed, as the last words of the process. They go to standard error: the manager has told
  /// the journal which service that stream belongs to. For an entry with fields the journal looks up the service by
  /// the process, and finds none if that has just ended.
  package static func startFailed(_ reason: String) {
    let entry = LogEntry(.error, .start, printable(reason), [])
    entry.write(asLastWordsTo: unsafe target)
  }

  private static func write(_ priority: JournalPriority, _ subject: Subject, _ message: String, _ fields: [Field]) {
    switch limit.withLock({ $0.admit(subject, at: .current) }) {
    case .refused: return
    case .admitted(leftOut: 0): break
    case .admitted(let count):
      write(
        LogEntry(
          .warning, subject, "entries like the last ones left out because there were too many: \(count)",
          [.code(.entriesLeftOut)]))
    }
    // Text of a client, a file or an origin may be part of it.
    write(LogEntry(priority, subject, printable(message), fields))
  }

  private static func write(_ entry: LogEntry) {
    if let writer = unsafe writer { writer.write(entry) } else { entry.write(to: unsafe target) }
  }
}

/// Where the entries of a log go.
package enum LogTarget: Sendable {
  case journal(SystemdJournal)
  /// Lines on standard error.
  case text
  /// Objects on standard output, one a line.
  case json

  private static let variable = "IMGD_LOG"

  /// The target that `IMGD_LOG` names; without that, the journal where standard error leads there.
  static func chosen(by environment: [String: String], else journal: SystemdJournal?) throws(UsageProblem) -> LogTarget
  {
    switch environment[variable] ?? "" {
    case "": journal.map(LogTarget.journal) ?? .text
    case "text": .text
    case "json": .json
    case let other: throw UsageProblem("\(variable)=\(shown(other)) is no form of a log: write text or json")
    }
  }

  var isText: Bool { if case .text = self { true } else { false } }
  fileprivate var isJournal: Bool { if case .journal = self { true } else { false } }
}

/// One entry of the log, on its way to its target.
struct LogEntry: Sendable {
  let priority: JournalPriority
  let message: String
  let fields: [(name: String, value: String)]

  init(priority: JournalPriority, message: String, fields: [(name: String, value: String)]) {
    self.priority = priority
    self.message = message
    self.fields = fields
  }

  init(_ priority: JournalPriority, _ subject: Log.Subject, _ message: String, _ fields: [Log.Field]) {
    self.init(
      priority: priority, message: message,
      fields: [("IMGD_EVENT", subject.rawValue)] + fields.map { ("\($0.name)", $0.value) })
  }

  /// Writes the entry; one that the journal does not take becomes a line of text.
  func write(to target: LogTarget) {
    let standard = [("MESSAGE", message), ("PRIORITY", "\(priority.rawValue)"), ("SYSLOG_IDENTIFIER", Log.programName)]
    switch target {
    case .journal(let journal): if !journal.send(standard + fields) { write(to: .text) }
    // On a line the level stands only where somebody has to do something.
    case .text:
      let level = priority == .error || priority == .warning ? "\(priority): " : ""
      write(line: "\(Log.programName): \(level)\(message)")
    case .json: StandardStream.say(json(at: WallClock.seconds))
    }
  }

  /// Writes the entry; where there is a journal as a line to standard error, with its priority in the form that the
  /// journal reads from a stream.
  func write(asLastWordsTo target: LogTarget) {
    guard case .journal = target else { return write(to: target) }
    write(line: "<\(priority.rawValue)>\(message)")
  }

  private func write(line: String) {
    let line = Array("\(line)\n".utf8)
    // Nothing can be done about a log that cannot be written.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }

  /// The entry as an object and a newline: the journal's own fields are named `event`, `bytes` and the like.
  func json(at seconds: Int64) -> String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("time", Timestamp.rfc3339(seconds))
      writer.field("level", "\(priority)")
      writer.field("program", Log.programName)
      writer.field("message", message)
      for field in fields {
        writer.name(field.name.replacing("IMGD_", with: "", maxReplacements: 1).lowercased())
        if let number = Int(field.value) { writer.value(number) } else { writer.value(field.value) }
      }
    }
    writer.newline()
    return String(decoding: writer.bytes, as: UTF8.self)
  }
}

/// Limits a subject's entries in a span of time: a client in a loop must not push all else out of the journal.
struct LogLimit {
  static let most = 100
  static let span = Duration.seconds(30)

  enum Answer: Equatable {
    /// To be logged; this many entries of the subject were refused since the last one that was logged.
    case admitted(leftOut: Int)
    case refused
  }

  private struct Count {
    let since: Instant
    var logged = 0
    var leftOut = 0
  }

  private var counts: [Log.Subject: Count] = [:]

  /// Decides about one more entry. A start has no limit: it logs everything that is wrong, and happens once.
  mutating func admit(_ subject: Log.Subject, at now: Instant) -> Answer {
    guard subject != .start else { return .admitted(leftOut: 0) }
    var count = counts[subject] ?? Count(since: now)
    var leftOut = 0
    if now - count.since >= Self.span {
      leftOut = count.leftOut
      count = Count(since: now)
    }
    let isAdmitted = count.logged < Self.most
    if isAdmitted { count.logged += 1 } else { count.leftOut += 1 }
    counts[subject] = count
    return isAdmitted ? .admitted(leftOut: leftOut) : .refused
  }
}

/// The process's standard output.
package enum StandardStream {
  /// Prints a program's answer, which is not one of its log entries, as long as the descriptor takes it.
  package static func say(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let written = unsafe rest.withUnsafeBytes { unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      guard written > 0 else { return }
      rest = rest.dropFirst(written)
    }
  }
}
