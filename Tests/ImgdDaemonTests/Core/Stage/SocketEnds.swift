import Glibc
import ImgdSystem

/// The two ends of a connection: the core's, and the one of its client.
func socketPair() throws -> (near: CInt, far: CInt) {
  var ends: [CInt] = [-1, -1]
  let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw SystemFailure("socketpair") }
  return (ends[0], ends[1])
}
