import Glibc
import ImgdCache
import ImgdSystem

/// Why the daemon could not start.
enum StartProblem: Error, CustomStringConvertible {
  case listening(ListenProblem)
  case directory(DirectoryProblem)
  case system(SystemFailure)

  var description: String {
    switch self {
    case .listening(let problem): problem.description
    case .directory(let problem): problem.description
    case .system(let failure): failure.description
    }
  }

  var exitCode: CInt {
    switch self {
    case .listening(.taken): EX_UNAVAILABLE
    case .listening(.pathTooLong), .listening(.exposed): EX_CONFIG
    case .listening(.notASocket), .listening(.noPlace): EX_CANTCREAT
    case .listening(.notListening), .listening(.notLoopback), .listening(.notLocal): EX_CONFIG
    case .listening(.system): EX_CANTCREAT
    case .directory(.taken): EX_UNAVAILABLE
    case .directory(.unsafe): EX_CONFIG
    case .directory(.unavailable): EX_CANTCREAT
    case .system: EX_OSERR
    }
  }
}
