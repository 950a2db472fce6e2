import Glibc
import ImgdSystem

extension SpawnedProgram.End {
  /// Whether the end came from outside: from the kernel when memory is short, or from a person. No decoder ends
  /// by these signals because of what it does; if the daemon itself kills one, nobody asks for the reason.
  var isFromOutside: Bool { [SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT].contains { self == .signalled($0) } }

  /// The end in words that follow "it".
  var words: String {
    switch self {
    case .exited(let code): "ended with exit code \(code)"
    case .signalled(SIGKILL): "was killed, perhaps for memory"
    case .signalled(let signal): "ended by \(Self.name(of: signal))"
    case .unknown: "ended"
    }
  }

  private static func name(of signal: CInt) -> String {
    switch signal {
    case SIGILL: "SIGILL"
    case SIGABRT: "SIGABRT"
    case SIGBUS: "SIGBUS"
    case SIGFPE: "SIGFPE"
    case SIGSEGV: "SIGSEGV"
    case SIGSYS: "SIGSYS"
    case SIGXCPU: "SIGXCPU"
    case SIGXFSZ: "SIGXFSZ"
    default: "signal \(signal)"
    }
  }
}
