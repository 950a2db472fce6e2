import Glibc

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
    case S_IFIFO: return try PressurePeer(fifo: path, request: bytes, loop: loop, callbacks: callbacks)
    case S_IFSOCK: return try PressurePeer(socket: path, request: bytes, loop: loop, callbacks: callbacks)
    default: throw .unknownKind(path)
    }
  }

  private static func kind(of path: String) throws(PressureProblem) -> mode_t {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .call("stat", path) }
    return status.st_mode & S_IFMT
  }
}
