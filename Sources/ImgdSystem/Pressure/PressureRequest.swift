import Glibc

/// What the configuration and the service manager say about memory pressure.
package struct PressureRequest: Sendable, Equatable {
  /// False when the configuration wants nothing of it.
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

  /// The service manager says so by the name of the null device.
  var isOff: Bool { !isWanted || watch == "/dev/null" }

  var ladder: [PressureWatch.Source] {
    if isOff { return [] }
    let asked: [PressureWatch.Source] = watch ?? "" == "" ? [] : [.serviceManager]
    return asked + [.cgroup, .system, .cgroupEvents, .sampling]
  }

  /// Opens what the service manager names, by what kind of file it is.
  func open(on loop: EventLoop, ear: PressureEar) throws(PressureProblem) -> AnyObject {
    let path = watch ?? ""
    guard path.utf8.first == UInt8(ascii: "/") else { throw .relativePath(path) }
    guard let greeting = Base64.bytes(write ?? "") else { throw .notBase64(write ?? "") }
    switch try Self.kind(of: path) {
    case S_IFREG: return try StallTrigger(greeting, on: path, loop: loop, ear: ear)
    case S_IFIFO:
      return try PressurePeer(fifo: path, greeting: greeting, loop: loop, ear: ear)
    case S_IFSOCK:
      return try PressurePeer(socket: path, greeting: greeting, loop: loop, ear: ear)
    default: throw .unknownKind(path)
    }
  }

  private static func kind(of path: String) throws(PressureProblem) -> mode_t {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .call("stat", path) }
    return status.st_mode & S_IFMT
  }
}
