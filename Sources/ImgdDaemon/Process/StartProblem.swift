import Glibc
import ImgdCache
import ImgdProgram
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
    case .listening(let problem): problem.exitCode
    case .directory(.taken): EX_UNAVAILABLE
    case .directory(.unsafe): EX_CONFIG
    case .directory(.unavailable): EX_CANTCREAT
    case .system: EX_OSERR
    }
  }
}
