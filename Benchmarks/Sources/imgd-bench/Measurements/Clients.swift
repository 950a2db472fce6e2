private import CBench
import Glibc

/// Hits with the bytes that the official clients send, beside a line typed by hand and a redis GET: first these bytes
/// from the load in C, so that the servers are compared; then clients as they are.
enum Clients {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let url = origin.url("a.png")
    let imgd = try Imgd(bench)
    let redis = bench.start("redis") { () throws(BenchFailure) in try Redis(bench) }
    try redis?.set("picture", [UInt8](repeating: 0x78, count: 300))
    let typed = imgd.hit(url, deliver: "path")
    var contenders = [typed]
    for client in RecordedClient.all {
      do throws(BenchFailure) {
        contenders.append(try client.contender(bench, imgd, url))
      } catch { bench.report.miss(client.name, error.reason) }
    }
    if let redis { contenders.append(redis.get("picture")) }
    for contender in contenders { _ = try contender.ask(.alone, for: 0.05) }
    for shape in Shape.all {
      let results = try Contender.compare(
        contenders, shape, rounds: bench.options.rounds, seconds: bench.scaled(0.8, quick: 0.1))
      tell(bench.report, shape, contenders.map(\.name), results)
    }
    if let redis { try comparePipes(bench, typed, redis) }
    comparePython(bench)
  }

  private static func tell(
    _ report: BenchReport, _ shape: Shape, _ names: [String], _ results: [[LoadResult]]
  ) {
    let rates = results.map { $0.map(\.perSecond) }
    for (name, own) in zip(names, rates).dropFirst() where name != "redis GET" {
      report.add(
        Row(
          what: "\(name) \(shape.name)", figure: Figure(median(own), "/s"), peer: names[0],
          ratios: Ratios(own, to: rates[0]), budget: name.hasSuffix("path") ? .atLeast(0.9) : nil))
    }
    guard names.last == "redis GET", let redis = rates.last else { return }
    for (name, own) in zip(names, rates).dropLast() {
      report.add(
        Row(
          what: "\(name) \(shape.name)", figure: Figure(median(own), "/s"), peer: "redis GET",
          ratios: Ratios(own, to: redis)))
    }
  }

  /// Many requests in one go: those of `redis-cli --pipe`, and lines as a shell would send them.
  private static func comparePipes(
    _ bench: Bench, _ typed: Contender, _ redis: Redis
  ) throws(BenchFailure) {
    guard Child.exists("redis-cli") else {
      return bench.report.miss("redis-cli --pipe", "redis-cli is missing")
    }
    let count = bench.scaled(20_000, quick: 5_000)
    let commands = bench.path("commands")
    try File.write(
      Array((0..<count).map { _ in redis.get("picture").requests[0] }.joined()), to: commands)
    var (own, peer): ([Double], [Double]) = ([], [])
    for _ in 0..<bench.options.rounds {
      let start = now()
      try Child.finish(
        ["sh", "-c", "redis-cli -s '\(redis.socket)' --pipe <'\(commands)' >/dev/null"],
        log: bench.path("pipe.log"))
      peer.append(Double(count) / (now() - start))
      own.append(try typed.ask(Shape(connections: 1, depth: 64), for: now() - start).perSecond)
    }
    bench.report.add(
      Row(
        what: "imgd path, lines in one go", figure: Figure(median(own), "/s"),
        peer: "redis-cli --pipe", ratios: Ratios(own, to: peer)))
  }

  /// The module for Python beside redis-py, by a script of its own.
  private static func comparePython(_ bench: Bench) {
    let script = bench.options.packagePath + "/Benchmarks/python/clients.py"
    let log = bench.path("python.log")
    do throws(BenchFailure) {
      try Child.finish(
        ["/usr/bin/python3", script, "--programs", bench.options.programs]
          + (bench.options.isQuick ? ["--quick"] : ["--rounds", "\(bench.options.rounds)"]),
        log: log)
      for line in (File.text(log) ?? "").split(separator: "\n") { bench.report.note(String(line)) }
    } catch { bench.report.miss("the module for Python", error.reason) }
  }
}

/// A client whose line is recorded: it asks a socket at which nobody answers.
private struct RecordedClient: Sendable {
  let name: String
  /// Commands that together ask the daemon at a socket for a URL.
  let commands: @Sendable (_ bench: Bench, _ socket: String, _ url: String) -> [[String]]

  static let all = [
    RecordedClient(name: "imgctl path") { bench, socket, url in
      [[bench.options.program("imgctl"), "--socket", socket, "fetch", url]]
    },
    RecordedClient(name: "python path") { bench, socket, url in
      python(bench, socket, "client.fetch('\(url)')")
    },
    RecordedClient(name: "python bytes") { bench, socket, url in
      python(bench, socket, "client.fetch('\(url)', deliver='bytes')")
    },
    RecordedClient(name: "imgd-http") { bench, socket, url in
      let (program, listener) = (bench.options.program("imgd-http"), socket + ".http")
      return [
        [
          program, "--config", "/dev/null", "--socket", socket, "--listen", listener, "--set",
          "HTTP-Gateway.Allow=127.0.0.1",
        ],
        [
          "curl", "-s", "--retry", "20", "--retry-all-errors", "--retry-delay", "1", "--unix-socket",
          listener, "http://x/fetch?url=\(url)",
        ],
      ]
    },
  ]

  private static func python(_ bench: Bench, _ socket: String, _ call: String) -> [[String]] {
    let place = bench.options.packagePath + "/clients/python"
    let program = """
      import sys
      sys.path.insert(0, '\(place)')
      import imgd
      client = imgd.Client('\(socket)')
      \(call)
      """
    return [["/usr/bin/python3", "-c", program]]
  }

  /// Sends the client's line, with an id and a receipt of its own in each request.
  func contender(_ bench: Bench, _ imgd: Imgd, _ url: String) throws(BenchFailure) -> Contender {
    let line = try record(bench, url)
    let framing = line.contains(#""deliver":"fd""#) ? Framing.descriptors : .lines
    let requests = (0..<4_096).map { number in
      Array((Self.renewed(line, number) + "\n").utf8)
    }
    try imgd.expect(Self.renewed(line, 5_000))
    return Contender(name: name, socket: imgd.socket, requests: requests, framing: framing)
  }

  private func record(_ bench: Bench, _ url: String) throws(BenchFailure) -> String {
    let socket = bench.path("recorder")
    // The path is read before the call returns.
    let listener = unsafe bench_listen(socket)
    guard listener >= 0 else { throw .system("listen", socket) }
    defer { close(listener) }
    var children: [Child] = []
    defer { for child in children { child.end() } }
    for words in commands(bench, socket, url) {
      children.append(try Child(words, log: bench.path("recorded.log")))
    }
    var line = [CChar](repeating: 0, count: 1 << 14)
    // At most the capacity is written.
    let count = unsafe bench_record(listener, #""fetch""#, &line, line.count)
    guard count > 0 else { throw .unavailable("it has sent no fetch") }
    return String(decoding: line[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The line with another id and another receipt, which keep its length.
  private static func renewed(_ line: String, _ number: Int) -> String {
    let digits = String(100_000_000_000 + number)
    var renewed = line
    for mark in [#""id":"#, #""id": "#] {
      guard let place = line.after(mark) else { continue }
      let end = place.firstIndex { !$0.isNumber } ?? place.endIndex
      renewed = String(line[..<place.startIndex]) + digits + line[end...]
    }
    for mark in [#""receipt":""#, #""receipt": ""#] {
      guard let place = renewed.after(mark) else { continue }
      let start = renewed.index(place.startIndex, offsetBy: 24)
      renewed = String(renewed[..<start]) + digits + renewed[renewed.index(start, offsetBy: 12)...]
    }
    return renewed
  }
}
