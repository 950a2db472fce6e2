/// Holds questions back while the answers are being changed: during the search of a purge, and while
/// an index is opened.
final class DiskGate {
  private var closings = 0
  private var waiting: [() -> Void] = []

  var isClosed: Bool { closings > 0 }

  func close() { closings += 1 }

  /// Takes one closing back; after the last one everything that waited goes on.
  func open() {
    closings -= 1
    guard closings == 0 else { return }
    let waiting = self.waiting
    self.waiting = []
    for action in waiting { action() }
  }

  /// Runs an action when the gate is next opened.
  func wait(_ action: @escaping () -> Void) { waiting.append(action) }
}
