import ImgdProgram
import ImgdSystem

/// Tells the core whether a route leads out of this machine, as far as the configuration wants that.
final class RouteWatch {
  private let loop: EventLoop
  private let tell: (_ isOffline: Bool) -> Void
  private var choice: OfflineChoice
  private var monitor: RouteMonitor?

  init(_ choice: OfflineChoice, on loop: EventLoop, tell: @escaping (_ isOffline: Bool) -> Void) {
    self.choice = choice
    self.loop = loop
    self.tell = tell
    open()
  }

  /// Begins to watch, or ends that, as the configuration now says.
  func apply(_ choice: OfflineChoice) {
    guard choice != self.choice else { return }
    self.choice = choice
    open()
  }

  /// A machine whose routes are not watched counts as online.
  private func open() {
    monitor = nil
    guard choice == .auto else { return tell(false) }
    do throws(SystemFailure) {
      let monitor = try RouteMonitor(on: loop, onChange: tell)
      self.monitor = monitor
      tell(monitor.isOffline)
    } catch {
      Log.notice(.configuration, "whether this machine is offline cannot be seen, so it counts as online: \(error)")
      tell(false)
    }
  }
}
