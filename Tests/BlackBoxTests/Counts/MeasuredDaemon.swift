import Glibc
import ImgdTestSupport
import ImgdWire

/// A release build of the daemon with pictures in it, started by the program that counts something.
final class MeasuredDaemon {
  /// The product that `make test-slow` builds before the tests.
  static let product = ".build/release/imgd"
  static let pictures = 64

  let pid: pid_t
  private let origin: OriginServer
  private let directory: String
  private var socket: String { directory + "/imgd.sock" }

  /// `program` is what runs the daemon, with its own arguments and the daemon's path.
  init(_ program: [String] = [product], environment: [String]? = nil) throws {
    guard access(Self.product, X_OK) == 0 else {
      throw TestFailure("\(Self.product) is missing: `make test-slow` builds it")
    }
    origin = try OriginServer()
    directory = try TemporaryDirectory.make()
    let arguments = [
      "--socket", directory + "/imgd.sock", "--cache-directory", directory + "/cache",
      "--config", "/dev/null", "--set", "Memory.Pressure=off", "--set", "Disk.MinFree=0",
    ]
    pid = try ChildProcess.spawn(
      program[0], program.dropFirst() + arguments, output: directory + "/log",
      environment: environment)
    let body = png(1_000)
    for deed in Deed.allCases {
      for number in 0..<Self.pictures {
        origin.plan(
          deed.path(number), .picture(body, headers: [("Cache-Control", "max-age=86400")]))
      }
    }
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
    for _ in 0..<4 { try perform(deed, depth: depth, count: Self.pictures, on: client) }
    // A path is told when its picture is stored: what the disk does for these is over then. Nothing rises into memory
    // that is to be found on the disk alone.
    for number in 0..<Self.pictures where deed != .connect {
      let asked = deed == .diskHit ? deed : .pathHit
      _ = try client.ask(asked.line(1, origin.url(deed.path(number))))
    }
    return client
  }

  /// Does something `count` times, `depth` of them at once, with another id each time.
  func perform(_ deed: Deed, depth: Int, count: Int, on client: TestClient) throws {
    guard deed != .connect else {
      for _ in 0..<count { _ = try connect().ask(#"{"cmd":"ping"}"#) }
      return
    }
    for start in stride(from: 0, to: count, by: depth) {
      let lines = (start..<start + depth).map { number in
        deed.line(100_000 + number, origin.url(deed.path(number * 7 % Self.pictures)))
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
enum Deed: String, CaseIterable {
  case hit, pathHit, diskHit, connect
  /// As the libraries, imgctl and the gateway ask: with a receipt and a deadline.
  case libraryHit, libraryPathHit, descriptorHit, inlineHit

  /// Pictures of its own, so that each is where it is wanted.
  func path(_ number: Int) -> String { "/pictures/\(rawValue)/\(10_000 + number).png" }

  func line(_ id: Int, _ url: String) -> String {
    switch self {
    case .hit: typedLine(id, url, #","deliver":"none""#)
    case .diskHit: typedLine(id, url, #","store":"disk""#)
    case .pathHit, .connect: typedLine(id, url, "")
    case .libraryHit: libraryLine(id, url, .none)
    case .libraryPathHit: libraryLine(id, url, .path)
    case .descriptorHit: libraryLine(id, url, .fd)
    case .inlineHit: libraryLine(id, url, .inline)
    }
  }

  /// As one types it.
  private func typedLine(_ id: Int, _ url: String, _ fields: String) -> String {
    #"{"id":\#(id),"cmd":"fetch","url":"\#(url)"\#(fields)}"#
  }

  /// What all programs in Swift send, which write their lines in one way.
  private func libraryLine(_ id: Int, _ url: String, _ delivery: Delivery) -> String {
    var fetch = FetchRequest(url: url)
    fetch.delivery = delivery
    fetch.extras.timeoutMilliseconds = 30_000
    fetch.extras.receipt = .random(using: (UInt64(id), .random(in: 0 ... .max)))
    return String(decoding: Request.fetch(fetch).line(id: .integer(Int64(id))), as: UTF8.self)
  }
}
