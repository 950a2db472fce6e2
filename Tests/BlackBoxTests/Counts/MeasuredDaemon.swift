import Glibc
import ImgdTestSupport
import ImgdWire

/// A release build of the daemon with pictures in it, started by the program that counts something.
final class MeasuredDaemon {
  /// The product that `make test-slow` builds before the tests.
  static let product = ".build/release/imgd"
  static let pictures = 64
  /// What a user's own daemon has by default, for root as well, and nothing that happens by itself.
  private static let usual = ["Memory.Pressure=off", "Disk.MinFree=0", "Control.See=all", "Control.Purge=all"]

  private(set) var pid: pid_t = 0
  private let origin: OriginServer
  private let directory: String
  /// What writes the lines of a deed.
  private var lines: [Deed: (Int, String) -> String] = [:]
  private var socket: String { directory + "/imgd.sock" }

  /// `program` is what runs the daemon, with its own arguments and the daemon's path. One in which no decoder can be
  /// started finds the forms of the pictures on disk, where another one has left them.
  init(
    _ program: [String] = [product], settings: [String] = [], environment: [String]? = nil, findsForms: Bool = false
  ) throws {
    guard access(Self.product, X_OK) == 0 else {
      throw TestFailure("\(Self.product) is missing: `make test-slow` builds it")
    }
    origin = try OriginServer()
    directory = try TemporaryDirectory.make()
    let arguments =
      [
        "--socket", directory + "/imgd.sock", "--cache-directory", directory + "/cache",
        "--config", "/dev/null",
      ] + (Self.usual + settings).flatMap { ["--set", $0] }
    let body = png(1_000)
    for deed in Deed.all {
      let tag = deed == .taggedHit ? [("ETag", "\"v1\"")] : []
      for number in 0..<Self.pictures {
        origin.plan(deed.path(number), .picture(body, headers: [("Cache-Control", "max-age=86400")] + tag))
      }
    }
    if findsForms {
      pid = try ChildProcess.spawn(Self.product, arguments, output: directory + "/log")
      try waitUntilItAnswers()
      _ = try prepare(.sent(.gatewayForm), depth: 1)
      kill(pid, SIGTERM)
      _ = ChildProcess.wait(pid)
    }
    pid = try ChildProcess.spawn(
      program[0], program.dropFirst() + arguments, output: directory + "/log", environment: environment)
    try waitUntilItAnswers()
  }

  deinit {
    kill(pid, SIGKILL)
    _ = ChildProcess.wait(pid)
    origin.stop()
    TemporaryDirectory.remove(directory)
  }

  func connect() throws -> TestClient { try TestClient(socket: socket) }

  private func waitUntilItAnswers() throws {
    try ChildProcess.awaitStart(of: pid, saying: read(directory + "/log") ?? "") {
      (try? connect().ask(#"{"cmd":"ping"}"#)) != nil
    }
  }

  /// Does something so often that the daemon knows all about it; answers the connection for `repeat`.
  func prepare(_ deed: Deed, depth: Int) throws -> TestClient {
    let client = try connect()
    if lines[deed] == nil { lines[deed] = try deed.writer() }
    // A path is told when its picture is stored: what the disk does for these is over then. Nothing rises into memory
    // that is to be found on the disk alone.
    for number in 0..<Self.pictures where deed != .connect {
      let store = deed == .diskHit ? "disk" : "all"
      let url = origin.url(deed.path(number))
      _ = try client.ask(#"{"id":1,"cmd":"fetch","url":"\#(url)","store":"\#(store)"}"#)
    }
    for _ in 0..<4 { try perform(deed, depth: depth, count: Self.pictures, on: client) }
    return client
  }

  /// Does something `count` times, `depth` of them at once, with another id each time.
  func perform(_ deed: Deed, depth: Int, count: Int, on client: TestClient) throws {
    guard deed != .connect else {
      for _ in 0..<count { _ = try connect().ask(#"{"cmd":"ping"}"#) }
      return
    }
    guard let line = lines[deed] else { throw TestFailure("\(deed) was not prepared") }
    for start in stride(from: 0, to: count, by: depth) {
      let lines = (start..<start + depth).map { number in
        line(100_000 + number, origin.url(deed.path(number * 7 % Self.pictures)))
      }
      try client.sendRaw(Array((lines.joined(separator: "\n") + "\n").utf8))
      for answer in try client.receive(depth) where answer["ok"] != .bool(true) {
        throw TestFailure("\(deed): \(answer.text)")
      }
      while let descriptor = client.takeDescriptor() { close(descriptor) }
    }
  }
}

/// What is done to the daemon, and counted.
enum Deed: Hashable {
  /// Typed by hand.
  case hit, pathHit, diskHit, connect
  /// The same as `pathHit`, when there are so many pictures that several are looked for ahead.
  case pathHitAmongMany
  /// By a client that has the picture.
  case taggedHit
  /// With a receipt and a deadline, as the library for Swift asks.
  case inlineHit, pixelsHit, libraryHit, libraryDescriptorHit
  /// As an official client asks.
  case sent(RecordedClient)

  static let all: [Deed] =
    [
      .hit, .pathHit, .diskHit, .connect, .taggedHit, .inlineHit, .pixelsHit, .libraryHit, .libraryDescriptorHit,
      .pathHitAmongMany,
    ] + RecordedClient.allCases.map { .sent($0) }

  private var name: String { if case .sent(let client) = self { client.rawValue } else { "\(self)" } }

  /// Pictures of its own, so that each is where it is wanted.
  func path(_ number: Int) -> String { "/pictures/\(name)/\(10_000 + number).png" }

  /// Gives a line an id and a URL.
  func writer() throws -> (Int, String) -> String {
    switch self {
    case .hit: typed(#","deliver":"none""#)
    case .diskHit: typed(#","store":"disk""#)
    case .pathHit, .pathHitAmongMany, .connect: typed("")
    case .taggedHit: typed(#","headers":{"If-None-Match":"\"v1\""}"#)
    case .inlineHit: written(as: .inline)
    case .pixelsHit: written(as: .pixels)
    case .libraryHit: written(as: .path)
    case .libraryDescriptorHit: written(as: .fd)
    case .sent(let client): try RecordedLine(of: client).line
    }
  }

  private func typed(_ fields: String) -> (Int, String) -> String {
    { id, url in #"{"id":\#(id),"cmd":"fetch","url":"\#(url)"\#(fields)}"# }
  }

  /// As all programs in Swift write it.
  private func written(as delivery: Delivery) -> (Int, String) -> String {
    { id, url in
      var fetch = FetchRequest(url: url)
      fetch.delivery = delivery
      fetch.extras.timeoutMilliseconds = 30_000
      fetch.extras.receipt = .random(using: (UInt64(id), .random(in: 0 ... .max)))
      return String(decoding: Request.fetch(fetch).line(id: .integer(Int64(id))), as: UTF8.self)
    }
  }
}
