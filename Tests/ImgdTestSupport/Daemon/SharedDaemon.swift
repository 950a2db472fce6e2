/// A daemon that the tests of a suite share, where it does not matter what it has been asked before. It starts with the
/// first of them, and ends with the test process.
package final class SharedDaemon: Sendable {
  private struct State {
    var daemon: DaemonProcess?
    /// Kept to the end: another origin at the port of one that is gone would find the pictures of that one stored.
    var origins: [OriginServer] = []
  }

  private let state = Shared(State())

  package init() {}

  /// The stage of one test, whose origin and client are its own.
  package func stage() throws -> Stage {
    let origin = try OriginServer()
    let daemon = try state.with { state in
      state.origins.append(origin)
      return Result {
        if let daemon = state.daemon { return daemon }
        let daemon = try DaemonProcess()
        state.daemon = daemon
        return daemon
      }
    }.get()
    return try Stage(on: daemon, with: origin)
  }
}
