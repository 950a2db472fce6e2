import Glibc
import ImgdSystem

/// What another program has printed, and how it ended.
struct ProgramOutput {
  private static let longest = 1 << 16

  /// The exit code; nil when a signal has ended it.
  let code: CInt?
  let text: String

  /// The standard output of a program that is looked up as a shell would do it; nil if it does not start, or fails.
  static func of(_ program: String, _ arguments: [String], environment: [String: String]) -> String? {
    let output = with(.messagesLost, program, arguments, environment: environment)
    return output?.code == 0 ? output?.text : nil
  }

  /// What becomes of the standard error of a program.
  enum Messages { case messagesLost, messagesRead }

  /// What a program has written, and its exit code; nil if it does not start.
  static func with(_ messages: Messages, _ program: String, _ arguments: [String], environment: [String: String])
    -> ProgramOutput?
  {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let reading = FileDescriptor(owning: ends[0])
    let pid = start(
      [program] + arguments, environment.map { "\($0.key)=\($0.value)" }, output: FileDescriptor(owning: ends[1]),
      messages)
    guard let pid else { return nil }
    let output = read(reading)
    var status: CInt = 0
    while unsafe waitpid(pid, &status, 0) < 0, errno == EINTR {}
    // As WIFEXITED and WEXITSTATUS have it, which are macros.
    let code = status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    return output.map { ProgramOutput(code: code, text: String(decoding: $0, as: UTF8.self)) }
  }

  /// Closes this end as well: a program that has more to say must not wait for ever.
  private static func read(_ reading: consuming FileDescriptor) -> [UInt8]? {
    try? reading.rest(longest, of: "a program's output")
  }

  /// Starts the program without input. This process keeps no end of the output, which thus ends with the
  /// program.
  private static func start(
    _ command: [String], _ environment: [String], output: consuming FileDescriptor, _ messages: Messages
  ) -> pid_t? {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output.number, 1)
    switch messages {
    case .messagesLost: unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    case .messagesRead: unsafe posix_spawn_file_actions_adddup2(&actions, output.number, 2)
    }
    var pid: pid_t = 0
    let code = unsafe withCStrings(command) { arguments in
      unsafe withCStrings(environment) { variables in
        unsafe posix_spawnp(&pid, command[0], &actions, nil, arguments, variables)
      }
    }
    return code == 0 ? pid : nil
  }
}
