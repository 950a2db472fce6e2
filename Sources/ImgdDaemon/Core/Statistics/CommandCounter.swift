/// Counts the commands of all clients.
final class CommandCounter {
  private(set) var count = 0
  /// Called for each command; set once by the composition.
  var onCommand: () -> Void = {}

  func countCommand() {
    count += 1
    onCommand()
  }
}
