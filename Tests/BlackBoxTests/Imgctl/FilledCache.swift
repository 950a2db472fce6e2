import Glibc
import ImgdTestSupport

/// A daemon with three pictures in both tiers, and imgctl to look at them.
struct FilledCache {
  static let program = BuiltProduct.path(of: "imgctl")

  let stage: Stage
  let directory = TemporaryDirectory()

  init() throws {
    stage = try Stage("Downloads.Retries=0")
    for number in 0..<3 {
      let picture = TestPicture.png(bytes: 3_000, seed: UInt64(number))
      stage.origin.plan("/\(number).png", .picture(picture))
      let url = stage.origin.url("/\(number).png")
      _ = try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)","ttl":600,"tags":["t"]}"#)
    }
  }

  func imgctl(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(Self.program, ["--socket", stage.daemon.socket] + arguments)
  }

  /// Starts imgctl with its output and messages in a file, whose path is the second result.
  func start(_ arguments: String...) throws -> (pid: pid_t, output: String) {
    let output = directory.path + "/output"
    let pid = try ChildProcess.spawn(
      Self.program, ["--socket", stage.daemon.socket] + arguments, output: output)
    return (pid, output)
  }

  /// Waits until a file has a text; returns all that it has.
  @discardableResult
  func wait(for text: String, in file: String) throws -> String {
    var content = ""
    let isThere = try becomes {
      content = read(file) ?? ""
      return content.contains(text)
    }
    guard isThere else { throw TestFailure("\(file) never had '\(text)', but: \(content)") }
    return content
  }

  /// Runs a script that finds the program in `$imgctl`.
  func shell(_ script: String) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/bin/sh", ["-c", script],
      environment: [
        "IMGD_SOCKET=\(stage.daemon.socket)", "PATH=/usr/bin:/bin", "imgctl=\(Self.program)",
      ])
  }
}
