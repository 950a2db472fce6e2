import Glibc
import ImgdSystem

/// How long a test waits for what has to come, before it has failed.
///
/// This is the tests' one limit by the wall clock. It judges no speed: it ends a test whose program hangs, and no
/// machine is so busy that it would be reached otherwise. What is to be quick is counted, or measured by a clock that
/// the test turns. Other times in tests are those of imgd's own limits, which are to pass, and those that something
/// has to last at least; where a test must be faster than a limit of imgd's, a comment says why it is.
package enum Patience {
  /// Under a sanitizer everything takes several times as long.
  package static let limit = Duration.seconds(Sanitizer.isOn ? 300 : 60)

  /// For `poll`.
  package static let milliseconds = CInt(limit.milliseconds)

  /// When a wait that begins now has failed.
  package static var end: Instant { .current + limit }
}
