// Whether a route leads out of this machine, as the kernel says over netlink.
//
// One socket is a bell: it becomes readable when links, addresses or routes have changed. What it says is dropped, as
// it does not tell of everything: the IPv4 routes that go with a link go without a word. After a ring the routes are
// listed anew, up to the first that leads out.
//
// Routes may come and go a thousand times a second, and lists may be long. So there is a pause after each look, in which
// nobody attends to the bell, and a list is read up to a limit: who has so many routes has one that leads out. The kernel
// may make a look wait for programs that change links, for a tenth of a second or more, so looks have a thread.

internal import CLinux

/// Tells when the last route that leads out has gone, and when the first has come.
package final class RouteMonitor {
  /// How long nobody attends to the bell after a look.
  static let pause = Duration.milliseconds(100)
  /// More messages than the bell holds.
  private static let mostRings = 64
  private static let mostReads = 64
  private static let bytesOfRead = 32 << 10

  /// Whether no route led out at the last look.
  package private(set) var isOffline: Bool

  private let look: (_ then: @escaping (Bool?) -> Void) -> Void
  private let onChange: (_ isOffline: Bool) -> Void
  private var isLooking = false
  private var watch: BackoffWatch?

  /// Begins to watch, and looks; `onChange` is called on the loop. Fails where the kernel shows no routes to this process.
  package convenience init(
    on loop: EventLoop, isOffline: Bool, onChange: @escaping (_ isOffline: Bool) -> Void
  ) throws(SystemFailure) {
    let bell = try FileDescriptor(returned: linux_route_bell(), by: "netlink")
    let worker = try WorkerThread(name: "imgd-routes", on: loop) {}
    // A look that fails leaves everything as it was.
    try self.init(
      bell, on: loop, isOffline: isOffline, look: { worker.submit({ _ in try? Self.findsWayOut() }, then: $0) },
      onChange: onChange)
    beginLook()
  }

  /// `look` says later, on the loop, whether a route leads out; nil where that cannot be told at this moment.
  init(
    _ bell: consuming FileDescriptor, on loop: EventLoop, isOffline: Bool,
    look: @escaping (_ then: @escaping (Bool?) -> Void) -> Void, onChange: @escaping (_ isOffline: Bool) -> Void
  ) throws(SystemFailure) {
    self.isOffline = isOffline
    self.look = look
    self.onChange = onChange
    let number = bell.number
    watch = try BackoffWatch(bell, for: .read, on: loop) { [unowned self] _ in
      // What has rung is left until a look under way has ended, which may have missed it.
      guard !isLooking else { return Self.pause }
      linux_drop_messages(number, CInt(Self.mostRings))
      beginLook()
      return Self.pause
    }
  }

  private func beginLook() {
    isLooking = true
    look { [unowned self] isOnline in
      isLooking = false
      guard let isOnline, isOnline == isOffline else { return }
      isOffline = !isOnline
      onChange(isOffline)
    }
  }

  /// Whether a route leads out at this moment. May wait for other programs that change links.
  package static func findsWayOut() throws(SystemFailure) -> Bool {
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
