import Glibc
import ImgdSystem

/// The units of imgd, where systemd runs and the socket is that of a unit.
struct UnitCheck {
  let place: SocketPlace
  let environment: [String: String]
  /// Whether a daemon was found at the socket.
  let hasAnswered: Bool

  var findings: [Finding] {
    guard place.isOwn || place.isMachines, place.hasManager else { return [] }
    var arguments = ["show", "--property=Id,LoadState,ActiveState,UnitFileState,Listen", "imgd.socket", "imgd.service"]
    // The gateway is the machine's alone.
    arguments = place.isOwn ? ["--user"] + arguments : arguments + ["imgd-http.socket", "imgd-http.service"]
    guard let answer = ProgramOutput.of("systemctl", arguments, environment: environment), answer.code == 0 else {
      return [.note("unit", "systemctl does not answer")]
    }
    let command = place.isOwn ? "systemctl --user" : "sudo systemctl"
    let states = UnitStates(answer.text)
    let findings = states.findings(command: command, hasAnswered: hasAnswered, lastError: lastError)
    let gateway = GatewayCheck(states).finding(command: command, lastError: lastError) { GatewayAnswer(of: $0) }
    guard let gateway else { return findings }
    // Good news about the same files has already been reported.
    let configuration = ConfigurationCheck(place: place, environment: environment, program: "imgd-http")
    return findings + [gateway] + configuration.findings.filter { $0.grade != .ok }
  }

  /// The last error that a unit has logged, after a colon; root alone may read the journal.
  private func lastError(_ unit: String) -> String? {
    guard place.isMachines, geteuid() == 0 else { return nil }
    // Only the unit's own lines: what systemd says about it is not the reason.
    let arguments = [
      "--quiet", "--boot", "_SYSTEMD_UNIT=\(unit)", "--priority=err", "--lines=1", "--output=cat", "--no-pager",
    ]
    let output = ProgramOutput.of("journalctl", arguments, environment: environment)
    guard let output, output.code == 0 else { return nil }
    return output.text.split(separator: "\n").last.map { ": " + String($0) }
  }
}

/// The states of units, as `systemctl show` prints them.
struct UnitStates {
  private let units: [[String: String]]

  init(_ answer: String) {
    var units: [[String: String]] = [[:]]
    for line in answer.split(separator: "\n", omittingEmptySubsequences: false) {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { units[units.count - 1][String(parts[0])] = String(parts[1]) } else { units.append([:]) }
    }
    self.units = units
  }

  /// The state of the socket's unit, and that of a service which has failed.
  func findings(command: String, hasAnswered: Bool = false, lastError: (_ unit: String) -> String? = { _ in nil })
    -> [Finding]
  {
    let socket = unit("imgd.socket")
    guard socket["LoadState"] == "loaded" else {
      return [.note("unit", "imgd.socket is not installed: imgd does not start by itself")]
    }
    let (state, file) = (socket["ActiveState"] ?? "?", socket["UnitFileState"] ?? "?")
    let finding: Finding =
      if state != "active" {
        hasAnswered
          ? .note(
            "unit", "imgd.socket is \(state): the imgd that answers was started by hand",
            remedy: "to have it started by itself, end that one, and: \(command) enable --now imgd.socket")
          : .problem("unit", "imgd.socket is \(state)", remedy: "\(command) enable --now imgd.socket")
      } else if file == "disabled" {
        .note(
          "unit", "imgd.socket is active, and will not be after the next boot", remedy: "\(command) enable imgd.socket")
      } else {
        .ok("unit", "imgd.socket is active and \(file)")
      }
    guard unit("imgd.service")["ActiveState"] == "failed" else { return [finding] }
    let failure = Finding.problem(
      "unit", "imgd.service has failed" + (lastError("imgd.service") ?? ""),
      remedy: "journalctl -u imgd says why; then: \(command) restart imgd.socket imgd.service")
    return [failure, finding]
  }

  /// The properties of a unit; empty if there is no such unit.
  func unit(_ name: String) -> [String: String] { units.first { $0["Id"] == name } ?? [:] }
}

/// What another program has printed, and how it ended.
struct ProgramOutput {
  private static let longest = 1 << 16

  /// The exit code; nil when a signal has ended it.
  let code: CInt?
  let text: String

  /// The output of a program that is looked up as a shell would do it, with its standard error if that is wanted; nil
  /// if it does not start.
  static func of(
    _ program: String, _ arguments: [String], environment: [String: String], withMessages: Bool = false
  ) -> ProgramOutput? {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let reading = FileDescriptor(owning: ends[0])
    let pid = start(
      [program] + arguments, environment.map { "\($0.key)=\($0.value)" }, output: FileDescriptor(owning: ends[1]),
      withMessages: withMessages)
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

  /// Starts the program without input. This process keeps no end of the output, which thus ends with the program.
  private static func start(
    _ command: [String], _ environment: [String], output: consuming FileDescriptor, withMessages: Bool
  ) -> pid_t? {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, output.number, 1)
    if withMessages {
      unsafe posix_spawn_file_actions_adddup2(&actions, output.number, 2)
    } else {
      unsafe posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
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
