private import CBench
import Glibc

/// The context of every measurement: options, report, a temporary directory, and servers.
final class Bench {
  let options: Options
  let report: BenchReport
  let workplace: String
  /// A directory in which new paths are made in place of the workplace.
  var ground: String?
  private var serial = 0
  private var servers: [Child] = []

  init(_ options: Options) throws(BenchFailure) {
    self.options = options
    workplace = try Self.makeWorkplace()
    report = BenchReport(MachineFacts.describe(options))
    _ = bench_raise_descriptor_limit()
  }

  deinit {
    try? Child.finish(["rm", "-rf", workplace], log: "/dev/null")
  }

  /// A new path in the temporary directory.
  func path(_ name: String) -> String {
    serial += 1
    return "\(ground ?? workplace)/\(serial)-\(name)"
  }

  func directory(_ name: String) throws(BenchFailure) -> String {
    let path = path(name)
    try File.makeDirectory(path)
    return path
  }

  /// Starts a server that runs at most until the measurement ends.
  func serve(
    _ words: [String], _ name: String, place: Place = .server, setting: String? = nil
  ) throws(BenchFailure) -> Child {
    let child = try Child(words, log: path(name + ".log"), place: place, setting: setting)
    servers.append(child)
    return child
  }

  func endServers() {
    for server in servers { server.end() }
    servers = []
  }

  /// One number for the full run, another for the smoke run.
  func scaled<Value>(_ full: Value, quick: Value) -> Value {
    options.isQuick ? quick : full
  }

  var hasImgd: Bool { File.isProgram(options.imgd) }

  /// Short, because a socket's path is limited to 107 bytes; on a disk, which /tmp may not be.
  private static func makeWorkplace() throws(BenchFailure) -> String {
    var template = Array("/var/tmp/imgd-bench.XXXXXX".utf8CString)
    // mkdtemp overwrites the last six letters of its argument.
    guard unsafe mkdtemp(&template) != nil else { throw .system("mkdtemp", "/var/tmp") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The processor of a process: servers run on one, the load on another, if there are two.
enum Place {
  case anywhere, server, load

  static var processors: Int { Int(bench_processors()) }

  var processor: CInt {
    guard bench_processors() > 1 || self == .load, self != .anywhere else { return -1 }
    return self == .server ? 1 : 0
  }
}

extension Bench {
  /// A peer; nil, with a line in the report, when it is not available.
  func start<Peer>(
    _ name: String, _ make: () throws(BenchFailure) -> Peer
  ) -> Peer? {
    do throws(BenchFailure) {
      return try make()
    } catch {
      report.miss(name, error.reason)
      return nil
    }
  }

  /// Runs `body` once for each item in every round; returns the figures grouped by item.
  func rounds<Item>(
    _ items: [Item], _ count: Int? = nil, _ body: (Item) throws(BenchFailure) -> Double
  ) throws(BenchFailure) -> [[Double]] {
    var figures = items.map { _ in [Double]() }
    for _ in 0..<(count ?? options.rounds) {
      for (index, item) in items.enumerated() {
        figures[index].append(try body(item))
      }
    }
    return figures
  }
}
