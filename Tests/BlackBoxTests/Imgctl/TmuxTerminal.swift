import Glibc
import ImgdTestSupport

/// A real terminal with a shell in it: tmux is typed into, resized and read.
final class TmuxTerminal {
  private static let program = "/usr/bin/tmux"

  let directory = TemporaryDirectory()
  private var server: String { directory.path + "/tmux" }

  init(columns: Int, rows: Int, environment: [String: String]) throws {
    let variables = environment.map { "\($0)=\($1)" }.sorted()
    try tmux(
      ["-f", "/dev/null", "-u", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
        + ["env", "PS1=$ ", "LANG=C.UTF-8", "HISTFILE=/dev/null"] + variables
        + ["bash", "--norc", "--noprofile"])
    try waitForPrompt()
  }

  deinit { _ = try? tmux(["kill-server"]) }

  /// Types a line for the shell, or for the program that runs.
  func enter(_ line: String) throws {
    try tmux(["send-keys", "-l", line])
    try press("Enter")
  }

  /// Presses a key, by tmux's name of it.
  func press(_ key: String) throws {
    try tmux(["send-keys", key])
  }

  func resize(columns: Int, rows: Int) throws {
    try tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// The rows as they are shown now.
  func screen() throws -> String {
    try tmux(["capture-pane", "-p"])
  }

  /// Waits until a text is shown, or until the screen satisfies another condition; returns the screen.
  @discardableResult
  func wait(for text: String) throws -> String {
    try wait(for: "'\(text)'") { $0.contains(text) }
  }

  @discardableResult
  func wait(for purpose: String, until isReached: (String) -> Bool) throws -> String {
    var shown = ""
    let isThere = try becomes {
      shown = try screen()
      return isReached(shown)
    }
    guard isThere else {
      throw TestFailure("waited in vain for \(purpose); the terminal shows:\n\(shown)")
    }
    return shown
  }

  /// The program that the shell runs now.
  func program() throws -> pid_t {
    let shell = try tmux(["display-message", "-p", "#{pane_pid}"]).split(separator: "\n")
    let children = try ChildProcess.run("/usr/bin/pgrep", ["-P", String(shell.first ?? "")])
    guard let pid = pid_t(children.output.split(separator: "\n").first ?? "") else {
      throw TestFailure("the shell \(shell) runs no program")
    }
    return pid
  }

  /// The lines on the screen and, if wanted, those that have left it at the top, without blanks at their ends.
  func lines(withHistory: Bool = true) throws -> [String] {
    let text = try tmux(["capture-pane", "-p", "-S", withHistory ? "-100" : "0"])
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      String(line.reversed().drop { $0 == " " }.reversed())
    }
    while lines.last == "" { lines.removeLast() }
    return lines
  }

  /// Waits until the lines are as a test wants them, and returns them.
  @discardableResult
  func waitForLines(_ purpose: String, until isReached: ([String]) -> Bool) throws -> [String] {
    var reached: [String] = []
    try wait(for: purpose) { _ in
      reached = (try? lines()) ?? []
      return isReached(reached)
    }
    return reached
  }

  /// Waits until the shell is ready for the next command.
  @discardableResult
  func waitForPrompt() throws -> [String] {
    try waitForLines("the prompt") { $0.last == "$" }
  }

  @discardableResult
  private func tmux(_ arguments: [String]) throws -> String {
    let (code, output) = try ChildProcess.run(Self.program, ["-S", server] + arguments)
    guard code == 0 else { throw TestFailure("tmux \(arguments): \(output)") }
    return output
  }
}
