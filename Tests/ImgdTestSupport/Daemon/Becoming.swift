import Glibc
import ImgdSystem

/// Looks again and again until something holds: for what other processes and threads do, and tell nobody.
///
/// The longer it takes, the longer are the pauses between two looks: a look takes the time of those that are waited
/// for.
package func becomes(_ holds: () throws -> Bool) throws -> Bool {
  let end = Patience.end
  var pause: CInt = 1
  while Instant.current < end {
    if try holds() { return true }
    poll(nil, 0, pause)
    pause = min(pause * 2, 32)
  }
  return try holds()
}
