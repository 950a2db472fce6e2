import Glibc
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

/// A pipe that holds a text, and then ends.
private final class Pipe {
  let end: CInt

  init(holding text: String) {
    var ends: [CInt] = [-1, -1]
    precondition(pipe(&ends) == 0, "there is no descriptor left")
    end = ends[0]
    // A pipe holds 64 KiB; the texts of the tests are shorter.
    precondition(write(ends[1], text, text.utf8.count) == text.utf8.count, "the text is too long")
    close(ends[1])
  }

  deinit { close(end) }
}

/// Runs imgctl as a shell would, with a daemon or without.
func imgctl(
  _ arguments: [String], _ daemon: ScriptedDaemon? = nil, input: String = "",
  from descriptor: CInt? = nil, onTerminal: Bool = false, environment: [String: String] = [:]
) -> Run {
  let recording = Recording()
  let typed = Pipe(holding: input)
  let console = Console(
    output: { bytes throws(SystemFailure) in recording.output += bytes },
    message: { recording.messages += $0 }, input: descriptor ?? typed.end,
    terminals: .init(input: onTerminal, output: onTerminal, messages: onTerminal))
  let socket = daemon?.path ?? "/nonexistent/s"
  let exitCode = Imgctl.run(
    arguments, environment: environment.merging(["IMGD_SOCKET": socket]) { $1 }, console: console)
  return Run(
    output: String(decoding: recording.output, as: UTF8.self), messages: recording.messages,
    exitCode: exitCode)
}
