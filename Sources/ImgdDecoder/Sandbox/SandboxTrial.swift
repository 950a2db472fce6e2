import CLinux
import Glibc
import ImgdDecode
import ImgdSystem

/// An attempt to do what a decoder must not be able to do, made from inside its sandbox, by a test.
enum SandboxTrial: String, CaseIterable {
  case readFile = "read-file"
  case writeFile = "write-file"
  case lookAtFile = "look-at-file"
  case listDirectory = "list-directory"
  case runCode = "run-code"
  case startProcess = "start-process"
  case startProgram = "start-program"
  case connect
  case signalParent = "signal-parent"
  case traceParent = "trace-parent"
  case takeMemory = "take-memory"
  case takeDescriptors = "take-descriptors"
  case readEnvironment = "read-environment"

  /// What came of it: `done`, or the number of the error.
  func attempt() -> DecodeFailure {
    errno = 0
    return DecodeFailure(.damaged, attempt() ? "done" : "\(errno)")
  }

  private func attempt() -> Bool {
    switch self {
    case .readFile: unsafe open("/etc/passwd", O_RDONLY) >= 0
    case .writeFile: unsafe open("/tmp/imgd-decoder-trial", O_WRONLY | O_CREAT, 0o600) >= 0
    case .lookAtFile: (try? FileStatus.of(path: "/etc/passwd")) != nil
    case .listDirectory: unsafe opendir("/") != nil
    case .runCode:
      unsafe mmap(nil, 4_096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
    case .startProcess: linux_fork() >= 0
    case .startProgram: linux_exec_true() == 0
    case .connect: socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0) >= 0
    case .signalParent: kill(getppid(), 0) == 0
    case .traceParent: linux_trace(getppid()) == 0
    case .takeMemory: unsafe malloc(64 << 30) != nil
    case .takeDescriptors: (0..<100).allSatisfy { _ in unsafe linux_memfd("trial") >= 0 }
    case .readEnvironment: unsafe getenv("PATH") != nil
    }
  }
}
