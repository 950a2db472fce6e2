import ImgdProgram
import ImgdSystem

/// Tells the core whether a route leads out of this machine, as far as the configuration wants that.
final class RouteWatch {
  private let loop: EventLoop
  private let tell: (_ isOffline: Bool) -> Void
  private var choice: OfflineChoice
  /// Kept once it is there, whatever the configuration says later.
  private var monitor: RouteMonitor?

  init(_ choice: OfflineChoice, on loop: EventLoop, tell: @escaping (_ isOffline: Bool) -> Void) {
    self.choice = choice
    self.loop = loop
    self.tell = tell
    guard choice == .auto else { return }
    // This may wait, since nobody is served yet; it has to, since the daemon may have been started for a fetch.
    open { () throws(SystemFailure) in try !RouteMonitor.findsWayOut() }
    report()
  }

  /// Tells what is so with this configuration.
  func apply(_ choice: OfflineChoice) {
    guard choice != self.choice else { return }
    self.choice = choice
    if choice == .auto, monitor == nil { open { () throws(SystemFailure) in false } }
    report()
  }

  private func open(_ firstLook: () throws(SystemFailure) -> Bool) {
    do throws(SystemFailure) {
      monitor = try RouteMonitor(on: loop, isOffline: firstLook()) { [unowned self] _ in report() }
    } catch {
      Log.notice(
        .configuration, "whether this machine is offline cannot be seen, so it counts as online: \(error)",
        .code(.routesUnseen))
    }
  }

  /// A machine whose routes are not watched counts as online.
  private func report() { tell(choice == .auto && monitor?.isOffline == true) }
}
