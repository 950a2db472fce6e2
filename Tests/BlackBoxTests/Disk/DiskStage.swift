import Glibc
import ImgdTestSupport
import ImgdWire

/// A daemon that can be stopped, killed and started again over the same cache directory, with an
/// origin that stays.
final class DiskStage {
  let origin: OriginServer
  let home: String
  /// The cache directory, which a test may have made before.
  let cache: String
  private let settings: [String]
  private(set) var pid: pid_t = 0
  private var connection: TestClient?

  /// Starts the daemon, or leaves that to the test, which has to prepare something.
  init(_ settings: [String], directory: String? = nil, starts: Bool = true) throws {
    origin = try OriginServer()
    home = try TemporaryDirectory.make()
    cache = directory ?? home + "/cache"
    self.settings = settings
    if starts { try start() }
  }

  convenience init(_ settings: String..., directory: String? = nil, starts: Bool = true) throws {
    try self.init(settings, directory: directory, starts: starts)
  }

  deinit {
    kill9()
    origin.stop()
    TemporaryDirectory.remove(home)
  }

  // MARK: The daemon

  private var socket: String { home + "/imgd.sock" }
  var log: String { read(home + "/log") ?? "" }
  var isRunning: Bool { pid > 0 && ChildProcess.isRunning(pid) }

  /// Starts a daemon without waiting for it.
  func spawn() throws {
    var arguments = ["--config", "/dev/null", "--socket", socket, "--cache-directory", cache]
    // As for every daemon of a test: the memory of the machine is not for it to feel.
    for setting in ["Memory.Pressure=off"] + settings { arguments += ["--set", setting] }
    pid = try ChildProcess.spawn(
      BuiltProduct.path(of: "imgd"), arguments, output: home + "/log")
  }

  /// Starts a daemon and waits until it answers.
  func start() throws {
    try spawn()
    try ChildProcess.awaitStart(of: pid, saying: log) {
      connection = try? connect()
      return (try? connection?.ask(#"{"cmd":"ping"}"#)) != nil
    }
  }

  /// Tells the daemon to stop, and answers its exit code.
  @discardableResult
  func stop() -> CInt {
    connection = nil
    kill(pid, SIGTERM)
    return waitForEnd()
  }

  /// Ends the daemon without a chance to put anything in order.
  func kill9() {
    connection = nil
    guard pid > 0 else { return }
    kill(pid, SIGKILL)
    _ = waitForEnd()
  }

  func waitForEnd() -> CInt {
    defer { pid = 0 }
    return ChildProcess.wait(pid)
  }

  func restart() throws {
    let code = stop()
    guard code == 0 else { throw TestFailure("imgd ended with \(code); it says: \(log)") }
    try start()
  }

  /// Waits until the daemon knows all of its index.
  func waitUntilLoaded() throws {
    guard try becomes({ try disk("loading") == nil }) else { throw TestFailure("it still loads") }
  }

  /// Restarts the daemon after a stop that was none.
  func crash() throws {
    kill9()
    try start()
  }

  // MARK: Conversations

  /// The connection that the test speaks over, another one after each start.
  var client: TestClient {
    get throws {
      guard let connection else { throw TestFailure("the daemon does not run") }
      return connection
    }
  }

  func connect() throws -> TestClient { try TestClient(socket: socket) }

  @discardableResult
  func play(_ text: String) throws -> [JSONValue] {
    do {
      return try client.play(text, origin: origin.url(""))
    } catch let failure as TestFailure {
      throw TestFailure("\(failure)\nimgd says: \(log)")
    }
  }

  func ask(_ line: String) throws -> JSONValue {
    try play("> " + line + "\n< {}")[0]
  }

  /// A fetch of a path, which must succeed, with further fields such as `"cache":"reload"`.
  @discardableResult
  func fetch(_ path: String, _ fields: String = "") throws -> JSONValue {
    let line = try ask(Self.request(path, fields))
    guard line["ok"] == .bool(true) else { throw TestFailure("\(line.text)\n\(log)") }
    return line
  }

  static func request(_ path: String, _ fields: String = "") -> String {
    #"{"cmd":"fetch","url":"ORIGIN\#(path)"\#(fields.isEmpty ? "" : "," + fields)}"#
  }

  /// A fetch that must bring a path.
  func path(of path: String, _ fields: String = "") throws -> String {
    let line = try fetch(path, fields)
    guard let file = line["path"]?.string else { throw TestFailure("\(line.text)\n\(log)") }
    return file
  }

  /// From where a fetch is answered.
  func source(of path: String, _ fields: String = "") throws -> String? {
    try fetch(path, fields)["source"]?.string
  }

  /// A purge, and how many entries it found on disk.
  @discardableResult
  func purge(_ fields: String = "") throws -> Int64? {
    let line = try ask(#"{"cmd":"purge"\#(fields.isEmpty ? "" : "," + fields)}"#)
    return line["disk"]?["entries"]?.integer
  }

  func emptyMemory() throws { try purge(#""tier":"memory""#) }

  func disk(_ name: String) throws -> JSONValue? {
    try ask(#"{"cmd":"stats"}"#)["disk"]?[name]
  }

  func count(_ name: String) throws -> Int {
    guard let number = try disk(name)?.integer else { throw TestFailure("no disk.\(name)") }
    return Int(number)
  }

  // MARK: What lies there

  /// All entries of the disk tier, page by page.
  func entries(limit: Int = 1_000, prefix: String? = nil) throws -> [JSONValue] {
    var all: [JSONValue] = []
    var cursor: String?
    repeat {
      let from = cursor.map { #","cursor":"\#($0)""# } ?? ""
      let prefix = prefix.map { #","prefix":"ORIGIN\#($0)""# } ?? ""
      let page = try ask(#"{"cmd":"entries","tier":"disk","limit":\#(limit)\#(from)\#(prefix)}"#)
      guard case .array(let entries) = page["entries"] else { throw TestFailure(page.text) }
      all += entries
      cursor = page["cursor"]?.string
    } while cursor != nil
    return all
  }

  /// The paths of all files below the directory of the layout but for the index.
  var files: Set<String> {
    Set(CacheFiles.below(cache + "/1").filter { !$0.hasPrefix(cache + "/1/index.db") })
  }

  /// Whether each file on disk has its entry, and each entry its file.
  func agrees() throws -> Bool {
    let listed = Set(try entries().compactMap { $0["path"]?.string })
    return try listed == files && count("entries") == listed.count
  }
}
