import Glibc
package import ImgdSystem

extension ListenProblem {
  /// One of sysexits, by which the unit decides whether another attempt can succeed.
  package var exitCode: CInt {
    switch self {
    case .taken: EX_UNAVAILABLE
    case .pathTooLong, .exposed, .notListening, .notLoopback, .notLocal: EX_CONFIG
    case .notASocket, .noPlace, .system: EX_CANTCREAT
    }
  }
}
