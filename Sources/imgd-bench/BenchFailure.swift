import Glibc

/// Why the bench could not measure: one sentence for people, one exit code of sysexits.
struct BenchFailure: Error {
  let reason: String
  let exitCode: CInt

  static func usage(_ reason: String) -> BenchFailure {
    BenchFailure(reason: reason, exitCode: 64)
  }

  static func unavailable(_ reason: String) -> BenchFailure {
    BenchFailure(reason: reason, exitCode: 69)
  }

  /// Takes `errno` as the failed call left it.
  static func system(_ call: String, _ subject: String) -> BenchFailure {
    // strerror's text is copied before anything else can replace it.
    let reason = unsafe String(cString: strerror(errno))
    return BenchFailure(reason: "\(call) \(subject): \(reason)", exitCode: 71)
  }
}
