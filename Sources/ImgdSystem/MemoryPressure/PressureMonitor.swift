// How the daemon learns that memory is short: of five sources the first one that works is used.
//
//   service-manager   the file that `$MEMORY_PRESSURE_WATCH` names: one of the kernel, a FIFO, a socket
//   cgroup            a trigger on the stalls of the process's own control group
//   system            a trigger on the stalls of the whole machine
//   cgroup-events     the counts of how often the group has reached its own limits
//   sampling          the stalls as a number that is read every two seconds
//
// The file of a source may be missing, forbidden, or unknown to an older kernel, and only trying
// shows that. The reasons why sources were skipped are kept as a note for `stats`. A source may also
// end while it is in use (a peer closes its socket); then the next one is opened.
//
// No source may keep the processor busy, whatever the kernel or a peer does: after each time that a
// descriptor was ready the watch pauses (`BackoffWatch`), and a source that keeps reporting a
// shortage that cannot be measured is ignored for a minute (`EventRateLimit`).

import Glibc

/// Reports memory pressure from the best source that the system offers.
package final class PressureMonitor {
  /// The sources, best first; the texts are those in `stats`.
  package enum Source: String, Sendable {
    case off
    case serviceManager = "service-manager"
    case cgroup
    case system
    case cgroupEvents = "cgroup-events"
    case sampling
    case none
  }

  /// The pause after each report of a source.
  static let pause = Duration.milliseconds(200)
  /// The pause after more reports than can be true.
  static let floodPause = Duration.seconds(60)

  package private(set) var source = Source.none
  /// Called with a sentence for the log when a source has ended or is ignored.
  package var onChange: (String) -> Void = { _ in }

  private let request: PressureRequest
  private let paths: PressurePaths
  private let loop: EventLoop
  private let onPressure: () -> Void
  private let cgroup: String?
  private var candidates: ArraySlice<Source>
  private var sensor: AnyObject?
  private var skipped: [String] = []
  private var rate = EventRateLimit()
  private var hasReportedFlood = false

  /// Opens the best source that works; there may be none.
  package init(
    _ request: PressureRequest, paths: PressurePaths = .system, loop: EventLoop, onPressure: @escaping () -> Void
  ) {
    self.request = request
    self.paths = paths
    self.loop = loop
    self.onPressure = onPressure
    cgroup = paths.ownCgroup
    candidates = request.candidates[...]
    openNext()
  }

  /// Why better sources than the present one are not used; nil when there are none.
  package var note: String? { skipped.isEmpty ? nil : skipped.joined(separator: "; ") }

  // MARK: Sources

  private func openNext() {
    sensor = nil
    source = request.isOff ? .off : .none
    while sensor == nil, let candidate = candidates.popFirst() {
      do throws(PressureProblem) {
        sensor = try open(candidate)
        source = candidate
      } catch { skipped.append("\(candidate.rawValue): \(error)") }
    }
  }

  private func open(_ source: Source) throws(PressureProblem) -> AnyObject? {
    switch source {
    case .serviceManager: try request.open(on: loop, callbacks: callbacks)
    case .cgroup: try trigger(on: ownCgroup() + "/memory.pressure")
    case .system: try trigger(on: paths.stalls)
    case .cgroupEvents: try LimitWatch(of: ownCgroup(), loop: loop, callbacks: callbacks)
    case .sampling: try StallSampling(of: stallFiles, loop: loop, callbacks: callbacks)
    case .off, .none: nil
    }
  }

  private func trigger(on path: String) throws(PressureProblem) -> StallTrigger {
    try StallTrigger(StallTrigger.usual, on: path, loop: loop, callbacks: callbacks)
  }

  private func ownCgroup() throws(PressureProblem) -> String {
    guard let cgroup else { throw .noCgroup }
    return cgroup
  }

  /// The files with stalls, the nearest first.
  private var stallFiles: [String] { (cgroup.map { [$0 + "/memory.pressure"] } ?? []) + [paths.stalls] }

  // MARK: Reports

  private var callbacks: PressureCallbacks {
    PressureCallbacks(
      pressure: { [unowned self] in report() }, ended: { [unowned self] reason in replace(because: reason) })
  }

  private func report() -> Duration {
    guard rate.isExceeded(at: loop.now), !isShort else {
      onPressure()
      return Self.pause
    }
    rate = EventRateLimit()
    logFlood()
    return Self.floodPause
  }

  /// Whether the measured stalls confirm that tasks have waited for memory lately.
  private var isShort: Bool { stallFiles.lazy.compactMap(Stalls.init(readFrom:)).first?.isPressure ?? false }

  private func logFlood() {
    guard !hasReportedFlood else { return }
    hasReportedFlood = true
    onChange(
      "\(source.rawValue) reports memory pressure more than \(EventRateLimit.limit) times a minute, "
        + "and no task waits for memory: it is ignored for \(Self.floodPause), now and whenever it does so again")
  }

  private func replace(because reason: String) {
    let lost = source
    skipped.append("\(lost.rawValue): \(reason)")
    openNext()
    onChange(
      "memory pressure is no longer reported by \(lost.rawValue) (\(reason)); the source is now \(source.rawValue)")
  }
}

/// Tells a flood of reports from real ones: a trigger with a window of two seconds fires thirty times
/// a minute at most, and some kernels have been seen to fire without end.
struct EventRateLimit {
  static let limit = 30
  static let period = Duration.seconds(60)

  private var moments = Fifo<Instant>()

  /// Counts one more event; returns whether that is more than the limit within the period.
  mutating func isExceeded(at now: Instant) -> Bool {
    moments.append(now)
    guard moments.count > Self.limit, let oldest = moments.popFirst() else { return false }
    return now - oldest < Self.period
  }
}

/// The settings for memory pressure, from the configuration and the service manager.
package struct PressureRequest: Sendable, Equatable {
  /// False when the configuration turns it off.
  package var isWanted: Bool
  /// The value of `$MEMORY_PRESSURE_WATCH`, as it is.
  package var watch: String?
  /// The value of `$MEMORY_PRESSURE_WRITE`, as it is: Base64.
  package var write: String?

  package init(isWanted: Bool = true, watch: String? = nil, write: String? = nil) {
    self.isWanted = isWanted
    self.watch = watch
    self.write = write
  }

  /// The service manager turns it off by naming the null device.
  var isOff: Bool { !isWanted || watch == "/dev/null" }

  /// The sources to try, best first.
  var candidates: [PressureMonitor.Source] {
    if isOff { return [] }
    let named: [PressureMonitor.Source] = watch ?? "" == "" ? [] : [.serviceManager]
    return named + [.cgroup, .system, .cgroupEvents, .sampling]
  }

  /// Opens the file that the service manager names, according to its kind.
  func open(on loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) -> AnyObject {
    let path = watch ?? ""
    guard path.utf8.first == UInt8(ascii: "/") else { throw .relativePath(path) }
    guard let bytes = Base64Decoder.bytes(write ?? "") else { throw .notBase64(write ?? "") }
    switch try Self.kind(of: path) {
    case S_IFREG: return try StallTrigger(bytes, on: path, loop: loop, callbacks: callbacks)
    case S_IFIFO: return try PressurePeer(path, isFIFO: true, request: bytes, loop: loop, callbacks: callbacks)
    case S_IFSOCK: return try PressurePeer(path, isFIFO: false, request: bytes, loop: loop, callbacks: callbacks)
    default: throw .unknownKind(path)
    }
  }

  private static func kind(of path: String) throws(PressureProblem) -> mode_t {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .call("stat", path) }
    return status.st_mode & S_IFMT
  }
}

struct PressureCallbacks {
  /// Memory is short. Returns how long to leave the source alone.
  let pressure: () -> Duration
  /// The source has ended, for this reason; it may be deallocated when this returns.
  let ended: (String) -> Void
}

/// Why a source of memory pressure cannot be used.
enum PressureProblem: Error, CustomStringConvertible {
  case system(SystemFailure)
  case relativePath(String)
  case notBase64(String)
  case unknownKind(String)
  case ordinaryFile(String)
  case cutShort(String)
  case noCgroup
  case noLimit(String)
  case unreadable([String])

  static func call(_ name: String, _ subject: String) -> PressureProblem { .system(SystemFailure(name, subject)) }

  var description: String {
    switch self {
    case .system(let failure): failure.description
    case .relativePath(let path): "\"\(path)\" is not an absolute path"
    case .notBase64(let text): "\"\(text)\" is not Base64"
    case .unknownKind(let path): "\(path) is no regular file, FIFO or socket"
    case .ordinaryFile(let path): "\(path) is an ordinary file, which sends no notification"
    case .cutShort(let path): "\(path) accepted only a part of what had to be written"
    case .noCgroup: "the process is in no cgroup of version 2 that is mounted"
    case .noLimit(let directory): "\(directory) has neither memory.high nor memory.max set"
    case .unreadable(let paths): "no stalls can be read in \(paths.joined(separator: ", "))"
    }
  }
}
