import ImgdSystem

@testable import ImgctlCommands

/// The output, the messages and the exit code of imgctl.
struct Run {
  var output = ""
  var messages = ""
  var exitCode = ExitCode.done
}

private final class Recording {
  var output: [UInt8] = []
  var messages = ""
}

/// Runs imgctl as a shell would, with a daemon or without.
func imgctl(
  _ arguments: [String], _ daemon: ScriptedDaemon? = nil, input: String = "",
  onTerminal: Bool = false
) -> Run {
  let recording = Recording()
  let console = Console(
    output: { bytes throws(SystemFailure) in recording.output += bytes },
    message: { recording.messages += $0 }, messagesGoToTerminal: onTerminal,
    input: { () throws(SystemFailure) in Array(input.utf8) })
  let socket = daemon?.path ?? "/nonexistent/s"
  let exitCode = Imgctl.run(arguments, environment: ["IMGD_SOCKET": socket], console: console)
  return Run(
    output: String(decoding: recording.output, as: UTF8.self), messages: recording.messages,
    exitCode: exitCode)
}
