import Glibc
import ImgdTestSupport
import ImgdWire

/// A release build of the daemon that fetches cold pictures by path, started by a program that counts something.
final class ColdRun {
  /// The product that `make test-slow` builds before the tests.
  static let product = ".build/release/imgd"

  let home: String
  private let origin: OriginServer
  private let pid: pid_t
  private var fetched = 0
  private var hasEnded = false

  /// `program` is what runs the daemon, with its own arguments and the daemon's path. `environment` and
  /// `program` may name files in the directory that they are given.
  init(
    _ program: (_ home: String) throws -> [String] = { _ in [product] },
    environment: (_ home: String) throws -> [String]? = { _ in nil }
  ) throws {
    guard access(Self.product, X_OK) == 0 else {
      throw TestFailure("\(Self.product) is missing: `make test-slow` builds it")
    }
    origin = try OriginServer()
    home = try TemporaryDirectory.make()
    let words = try program(home)
    let settings = [
      "Memory.Pressure=off", "Disk.MinFree=0", "Downloads.MaxActive=16", "Downloads.MaxPerHost=16",
    ]
    pid = try ChildProcess.spawn(
      words[0],
      words.dropFirst() + [
        "--config", "/dev/null", "--socket", home + "/imgd.sock", "--cache-directory",
        home + "/cache",
      ] + settings.flatMap { ["--set", $0] },
      output: home + "/log", environment: try environment(home))
    try waitUntilItAnswers()
  }

  deinit {
    if !hasEnded {
      kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    origin.stop()
    TemporaryDirectory.remove(home)
  }

  private func waitUntilItAnswers() throws {
    try ChildProcess.awaitStart(of: pid, saying: read(home + "/log") ?? "") {
      (try? TestClient(socket: home + "/imgd.sock").ask(#"{"cmd":"ping"}"#)) != nil
    }
  }

  /// Fetches so many new pictures, all asked for at once.
  func fetch(_ count: Int) throws {
    let body = png(28_000)
    let lines = (fetched..<fetched + count).map { number in
      origin.plan("/\(10_000 + number)", .picture(body))
      return #"{"cmd":"fetch","url":"\#(origin.url("/\(10_000 + number)"))"}"#
    }
    fetched += count
    let client = try TestClient(socket: home + "/imgd.sock")
    try client.sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
    for line in try client.receive(count) where line["path"]?.string == nil {
      throw TestFailure("no path: \(line.text)")
    }
  }

  /// Tells the daemon to stop, and waits for its end.
  func stop() throws {
    kill(pid, SIGTERM)
    hasEnded = true
    let code = ChildProcess.wait(pid)
    guard code == 0 else {
      throw TestFailure("imgd ended with \(code): \(read(home + "/log") ?? "")")
    }
  }
}
