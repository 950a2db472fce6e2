import Glibc

/// The reason why the bench failed, and an exit code of sysexits.
struct BenchFailure: Error {
  let reason: String
  let exitCode: CInt

  static func usage(_ reason: String) -> BenchFailure {
    BenchFailure(reason: reason, exitCode: 64)
  }

  static func unavailable(_ reason: String) -> BenchFailure {
    BenchFailure(reason: reason, exitCode: 69)
  }

  /// Uses `errno` of the failed call.
  static func system(_ call: String, _ subject: String) -> BenchFailure {
    // strerror's text is copied before anything else can replace it.
    let reason = unsafe String(cString: strerror(errno))
    return BenchFailure(reason: "\(call) \(subject): \(reason)", exitCode: 71)
  }
}
