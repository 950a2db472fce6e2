import ImgdSystem

/// The line that says what is going on, as the service manager shows it to everybody.
///
/// It names no URL, and is told at most every five seconds and only after something has happened: a
/// daemon that nobody asks wakes nobody.
final class StatusLine {
  private static let pace = Duration.seconds(5)

  /// What there is to say at this moment.
  let text: () -> String
  private let manager: ServiceManager
  private let loop: EventLoop
  private var isComing = false
  private var told = ""
  private(set) var isClosed = false

  init(_ manager: ServiceManager, on loop: EventLoop, _ text: @escaping () -> String) {
    self.manager = manager
    self.loop = loop
    self.text = text
  }

  /// Something has happened: the line may have changed, and will be looked at in a while.
  func noteActivity() {
    guard !isComing, manager.isPresent else { return }
    isComing = true
    loop.schedule(after: Self.pace) { [weak self] in self?.tell() }
  }

  /// Says nothing any more: what there is to say is that the daemon stops.
  func close() {
    isClosed = true
  }

  private func tell() {
    isComing = false
    guard !isClosed else { return }
    let text = text()
    guard text != told else { return }
    told = text
    manager.status(text)
  }
}
