import ImgdProgram
import ImgdSystem

/// The status line that `systemctl status` shows to every user.
///
/// It names no URL, and is sent at most every five seconds and only after a command: an idle daemon
/// does not wake up.
final class StatusLine {
  private static let interval = Duration.seconds(5)

  /// The line as it should be at this moment.
  let text: () -> String
  private let manager: SystemdMessenger
  private let loop: EventLoop
  private var isScheduled = false
  private var last = ""
  private(set) var isClosed = false

  init(_ manager: SystemdMessenger, on loop: EventLoop, _ text: @escaping () -> String) {
    self.manager = manager
    self.loop = loop
    self.text = text
  }

  /// A command has arrived: the line may have changed, and is compared after the interval.
  func noteActivity() {
    guard !isScheduled, manager.hasManager else { return }
    isScheduled = true
    loop.schedule(after: Self.interval) { [weak self] in self?.update() }
  }

  /// Sends nothing any more: the last status says that the daemon is stopping.
  func close() { isClosed = true }

  private func update() {
    isScheduled = false
    guard !isClosed else { return }
    let text = text()
    guard text != last else { return }
    last = text
    manager.post(.status(text))
  }
}
