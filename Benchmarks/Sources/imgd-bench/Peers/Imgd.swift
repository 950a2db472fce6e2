import Glibc

/// An instance of the daemon for one measurement.
struct Imgd {
  let child: Child
  let socket: String
  /// The cache directory, which a later instance can use.
  let cache: String

  /// `settings` are `Section.Key=Value`; `environment` is one NAME=VALUE. Without the cache of another
  /// instance it begins empty. `scheduling` is a command that starts another one with a priority.
  init(
    _ bench: Bench, place: Place = .server, settings: [String] = [], environment: String? = nil,
    cache: String? = nil, configuration: String = "/dev/null", scheduling: [String] = []
  ) throws(BenchFailure) {
    guard bench.hasImgd else { throw .unavailable("imgd is missing at \(bench.options.imgd)") }
    socket = bench.path("imgd")
    self.cache = cache ?? bench.path("cache")
    let words =
      scheduling + [
        bench.options.imgd, "--config", configuration, "--socket", socket, "--cache-directory",
        self.cache,
      ]
    child = try bench.serve(
      words + settings.flatMap { ["--set", $0] }, "imgd", place: place,
      setting: environment)
    try child.awaitReady("imgd") { [socket] in ask(socket, #"{"cmd":"ping"}"#) != nil }
  }

  /// The reply to a command; throws on a refusal.
  @discardableResult
  func expect(_ line: String) throws(BenchFailure) -> String {
    try Self.expect(line, of: socket)
  }

  /// The same of an instance that another process has started.
  @discardableResult
  static func expect(_ line: String, of socket: String) throws(BenchFailure) -> String {
    guard let reply = ask(socket, line) else { throw .unavailable("imgd did not answer \(line)") }
    guard reply.contains(#""ok":true"#) else { throw .unavailable("imgd refused: \(reply)") }
    return reply
  }

  static func fetch(_ url: String, deliver: String, more: String = "") -> String {
    #"{"cmd":"fetch","url":"\#(url)","deliver":"\#(deliver)"\#(more)}"#
  }

  func hit(_ url: String, deliver: String, framing: Framing = .lines) -> Contender {
    Contender(
      name: "imgd \(deliver)", socket: socket,
      request: Array((Self.fetch(url, deliver: deliver) + "\n").utf8), framing: framing)
  }

  /// Hits of many pictures in turn, whose URLs have the same length.
  func hits(
    _ urls: [String], deliver: String, more: String = "", framing: Framing = .lines
  ) -> Contender {
    Contender(
      name: "imgd \(deliver)", socket: socket,
      requests: urls.map { Array((Self.fetch($0, deliver: deliver, more: more) + "\n").utf8) },
      framing: framing)
  }

  /// Fetches every URL once, at most 5,000 at a time, by default without delivery.
  @discardableResult
  func fetchAll(
    _ urls: [String], deliver: String = "none", more: String = ""
  ) throws(BenchFailure) -> LoadResult? {
    var last: LoadResult?
    for start in stride(from: 0, to: urls.count, by: 5_000) {
      let some = urls[start..<min(start + 5_000, urls.count)]
      let lines = some.map { Self.fetch($0, deliver: deliver, more: more) + "\n" }.joined()
      let result = try Load(replies: some.count, batches: 1).run(
        on: socket, batch: Array(lines.utf8))
      guard result.failures == 0 else {
        throw .unavailable("imgd failed \(result.failures) of \(some.count) fetches")
      }
      last = result
    }
    return last
  }

  /// A number of `stats`, by section and name.
  func stat(_ section: String, _ name: String) throws(BenchFailure) -> Int {
    try Self.stat(section, name, of: socket)
  }

  static func stat(
    _ section: String, _ name: String, of socket: String
  ) throws(BenchFailure) -> Int {
    let stats = try expect(#"{"cmd":"stats"}"#, of: socket)
    guard let part = stats.after(#""\#(section)":{"#), let rest = part.after(#""\#(name)":"#),
      let number = Int(rest.prefix { $0.isNumber })
    else { throw .unavailable("stats have no \(section).\(name): \(stats)") }
    return number
  }
}

// MARK: The disk tier

extension Imgd {
  /// Settings for measurements in which nothing may be evicted.
  static let roomy = [
    "Memory.Capacity=400M", "Memory.Preferred=300M", "Disk.Capacity=1000G", "Disk.MinFree=0",
    "Downloads.MaxActive=16", "Downloads.MaxPerHost=16",
  ]

  /// Adds copies of the first entry to a cache directory that no instance uses, until there are so many.
  static func multiply(
    _ cache: String, to entries: Int, withFiles: Bool = false, _ bench: Bench
  ) throws(BenchFailure) {
    let program = bench.options.program("multiply-index")
    guard File.isProgram(program) else { throw .unavailable("there is no \(program)") }
    try Child.finish(
      [program, cache, "\(entries)", withFiles ? "files" : "rows"],
      log: bench.path("multiply.log"))
  }

  /// Whether it is still reading its index.
  var isLoading: Bool {
    get throws(BenchFailure) { try expect(#"{"cmd":"stats"}"#).contains(#""loading":true"#) }
  }

  func awaitLoaded() throws(BenchFailure) {
    while try isLoading { usleep(500) }
  }

  /// Waits until so many pictures are stored on disk.
  func awaitStored(_ count: Int) throws(BenchFailure) {
    for _ in 0..<60_000 {
      if try stat("disk", "entries") >= count { return }
      usleep(500)
    }
    throw .unavailable("\(try stat("disk", "entries")) of \(count) pictures were stored")
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The text after the first occurrence of a mark.
  func after(_ mark: String) -> Substring? {
    let bytes = Array(mark.utf8)
    var rest = self[...]
    while !rest.isEmpty {
      if rest.utf8.starts(with: bytes) { return rest.dropFirst(mark.count) }
      rest = rest.dropFirst()
    }
    return nil
  }
}
