// Whether a route leads out of this machine, as the kernel says over netlink.
//
// One socket is a bell: it becomes readable when links, addresses or routes have changed. What it says is dropped, as
// it does not tell of everything: the IPv4 routes that go with a link go without a word. After a ring the routes are
// listed anew, up to the first that leads out.
//
// Routes may come and go a thousand times a second, and lists may be long. So there is a pause after each look, in which
// nobody attends to the bell, and a list is read up to a limit: who has so many routes has one that leads out.

internal import CLinux

/// Tells when the last route that leads out has gone, and when the first has come.
package final class RouteMonitor {
  /// How long nobody attends to the bell after a look.
  static let pause = Duration.milliseconds(100)
  /// More messages than the bell holds.
  private static let mostRings = 64
  private static let mostReads = 64
  private static let bytesOfRead = 32 << 10

  /// Whether no route leads out.
  package private(set) var isOffline: Bool

  private let look: () -> Bool?
  private let onChange: (_ isOffline: Bool) -> Void
  private var watch: BackoffWatch?

  /// Begins to watch; `onChange` is called on the loop. Fails where the kernel does not show its routes to this process.
  package convenience init(on loop: EventLoop, onChange: @escaping (_ isOffline: Bool) -> Void) throws(SystemFailure) {
    // Whether routes can be listed shows now; later a look that fails leaves everything as it was.
    let isOnline = try Self.listRoutes()
    let bell = try FileDescriptor(returned: linux_route_bell(), by: "netlink")
    try self.init(bell, on: loop, isOnline: isOnline, look: { try? Self.listRoutes() }, onChange: onChange)
    // Something may have changed between the two.
    check()
  }

  /// `look` says whether a route leads out; nil where that cannot be told at this moment.
  init(
    _ bell: consuming FileDescriptor, on loop: EventLoop, isOnline: Bool, look: @escaping () -> Bool?,
    onChange: @escaping (_ isOffline: Bool) -> Void
  ) throws(SystemFailure) {
    isOffline = !isOnline
    self.look = look
    self.onChange = onChange
    let number = bell.number
    watch = try BackoffWatch(bell, for: .read, on: loop) { [unowned self] _ in
      linux_drop_messages(number, CInt(Self.mostRings))
      check()
      return Self.pause
    }
  }

  private func check() {
    guard let isOnline = look(), isOnline == isOffline else { return }
    isOffline = !isOnline
    onChange(isOffline)
  }

  private static func listRoutes() throws(SystemFailure) -> Bool {
    let socket = try FileDescriptor(returned: linux_list_routes(), by: "netlink")
    var room = [UInt8](repeating: 0, count: bytesOfRead)
    for _ in 0..<mostReads {
      // Fills at most the size of the buffer.
      let count = unsafe linux_read_routes(socket.number, &room, room.count)
      guard count > 0 else { throw SystemFailure("recv", "netlink") }
      switch RouteList(room[..<count]).verdict {
      case .leadsOut: return true
      case .goesOn: continue
      case .ended: return false
      case .failed(let code): throw SystemFailure("netlink", "list of routes", errno: code)
      }
    }
    return true
  }
}
