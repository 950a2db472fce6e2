import Glibc
import ImgdConnection
import ImgdSystem

/// The configuration that the next start or reload reads: the daemon that runs may have refused it.
struct ConfigurationCheck {
  let place: SocketPlace
  let environment: [String: String]
  /// The program that reads it, with `--check-config`.
  var program = "imgd"

  /// No findings about a daemon that was started with a socket of its own: its options are not known.
  var findings: [Finding] {
    guard place.isMachines || place.isOwn,
      let output = ProgramOutput.of(
        Self.path(of: program), ["--check-config"], environment: variables, withMessages: true), let code = output.code
    else { return [] }
    return [Self.finding(code, output.text, of: program, isRoot: geteuid() == 0)].compactMap { $0 }
  }

  /// That the daemon goes on with what it had before.
  static func refusal(in config: Reply) -> [Finding] {
    guard let refusal = config.text("refused") else { return [] }
    return [
      .problem(
        "configuration", "the last reload changed nothing: \(refusal)", remedy: "correct it, then: imgctl reload")
    ]
  }

  /// Judges what `--check-config` has said; nil for a program that could not tell.
  static func finding(_ code: CInt, _ text: String, of program: String, isRoot: Bool) -> Finding? {
    let subject = "configuration"
    if code == 0 { return .ok(subject, "good, as \(program) --check-config reads it") }
    // EX_CONFIG, which is a macro.
    guard code == 78 else { return nil }
    let prefix = "\(program): error: "
    let mistakes = text.split(separator: "\n").map {
      $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : String($0)
    }
    let shown = mistakes.joined(separator: "\n")
    // Some files may be readable only by root and the service.
    if !isRoot, mistakes.allSatisfy({ $0.hasSuffix("Permission denied") }) {
      return .note(subject, shown, remedy: "root can look at it: sudo imgctl doctor")
    }
    return .problem(
      subject, shown,
      remedy: "correct it, until \(program) --check-config is content: no restart and no reload will take it")
  }

  /// The environment of the check. The machine's service has the machine's configuration, and nothing of this user's
  /// environment; a user's own daemon has that user's, even if the user is root.
  private var variables: [String: String] {
    guard place.isMachines else {
      var variables = environment
      let home = environment["HOME"].map { $0 + "/.config" }
      variables["CONFIGURATION_DIRECTORY"] = (environment["XDG_CONFIG_HOME"] ?? home).map { $0 + "/imgd" }
      return variables
    }
    var variables = ["CONFIGURATION_DIRECTORY": "/etc/imgd"]
    variables["PATH"] = environment["PATH"]
    return variables
  }

  /// The program beside this one, or the one that a shell finds.
  private static func path(of program: String) -> String {
    guard let path = LinkTarget.link("/proc/self/exe"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else {
      return program
    }
    let beside = String(path[...slash]) + program
    return SocketSearch.isThere(beside) ? beside : program
  }
}

/// Small files that the system shows.
enum TextFile {
  /// The beginning of a file, at most `longest` bytes; nil if it cannot be read.
  static func content(of path: String, longest: Int) -> String? {
    let bytes = try? FileDescriptor(opening: path, O_RDONLY).rest(longest, of: path)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
