import Glibc
import ImgdSystem

/// What people who look after the machine should know; silent while all is well.
///
/// Levels say who must act: an error the operator, a warning the operator if it goes on, a notice
/// nobody (the state has changed).
/// URLs appear without query and fragment: a signed URL is a secret.
enum Log {
  enum Level: String {
    case error
    case warning
    case notice
  }

  static func error(_ message: String) { write(.error, message) }
  static func warning(_ message: String) { write(.warning, message) }
  static func notice(_ message: String) { write(.notice, message) }

  private static func write(_ level: Level, _ message: String) {
    let line = Array("imgd: \(level == .notice ? "" : "\(level.rawValue): ")\(message)\n".utf8)
    // Nothing can be done about a log that takes nothing.
    _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
  }
}
