import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Drawings that want to open something, or to take all there is.
struct HostileDrawingTests {
  private static let settings = [
    "Downloads.AcceptTypes=png svg", "Decode.Timeout=1s", "Decode.Memory=256M", "Decode.Workers=2",
  ]
  /// What may become of one, beside a picture.
  private static let codes: Set = [
    "not_an_image", "decode_failed", "decode_crashed", "too_many_pixels", "timeout",
  ]

  private func stage() throws -> Stage {
    try Stage(Self.settings[0], Self.settings[1], Self.settings[2], Self.settings[3])
  }

  @Test func `whatever a drawing is, the daemon lives and the decoders come back`() throws {
    let stage = try stage()
    let pid = stage.daemon.pid
    let drawings = HostileDrawing.all
    #expect(drawings.count >= 60 && Set(drawings.map(\.name)).count == drawings.count)
    for (number, drawing) in drawings.enumerated() { stage.offer(drawing.bytes, at: "/\(number)") }
    var outcomes: [String: Int] = [:]
    for (number, drawing) in drawings.enumerated() {
      let form = #""deliver":"none","resize":{"width":20,"height":20}"#
      let line = try stage.ask("/\(number)", form)
      let code = line["ok"] == true ? "ok" : line.failureCode ?? "nothing"
      outcomes[code, default: 0] += 1
      #expect(code == "ok" || Self.codes.contains(code), "\(drawing.name): \(line.text)")
      guard code == "timeout" || code == "decode_crashed" else { continue }
      // What ended a decoder is known: it ends no other.
      let ended = try stage.stats("decode", "killed")
      #expect(try stage.ask("/\(number)", form).failureCode == code, "\(drawing.name)")
      #expect(try stage.stats("decode", "killed") == ended, "\(drawing.name)")
    }
    #expect(outcomes["ok", default: 0] >= HostileDrawing.references.count, "\(outcomes)")
    #expect(stage.daemon.pid == pid && stage.daemon.isRunning)
    stage.offer(TestDrawing.disc, at: "/sound")
    #expect(try stage.pixels(of: "/sound").width == 16)
  }

  @Test func `a reference to something outside draws nothing, and the rest is drawn`() throws {
    let stage = try stage()
    for (number, drawing) in HostileDrawing.references.enumerated() {
      let pixels = try stage.pixels(of: drawing.bytes, at: "/\(number)")
      for (x, y) in [(0, 0), (9, 9), (5, 5)] {
        #expect(pixels[x, y] == [0, 0, 255, 255], "\(drawing.name)")
      }
    }
  }

  @Test func `a drawing is no picture unless it is asked for`() throws {
    let stage = try Stage()
    stage.offer(TestDrawing.disc, at: "/disc")
    let line = try stage.ask("/disc", #""deliver":"none""#)
    #expect(line.failureCode == "not_an_image" && line.failureMessage.contains("AcceptTypes"))
  }

  @Test(.enabled(if: SystemCallCount.obstacle == nil, "strace is missing"))
  func `a decoder that is shut opens nothing`() throws {
    let stage = try stage()
    let watch = try OpenedFiles(of: stage.daemon.pid)
    let drawings = HostileDrawing.all
    for (number, drawing) in drawings.enumerated() {
      stage.offer(drawing.bytes, at: "/\(number)")
      _ = try stage.ask("/\(number)", #""deliver":"none","resize":{"width":20,"height":20}"#)
    }
    let seen = watch.end()
    #expect(seen.shut > 0, "no decoder was seen")
    #expect(seen.opened.isEmpty, "\(seen.opened)")
  }
}

/// What decoders open after they have shut themselves off, as strace sees it.
private final class OpenedFiles {
  private static let calls = ["open", "openat", "openat2", "creat", "socket", "connect", "execve", "fork", "vfork"]

  private let directory = TemporaryDirectory()
  private let tracer: pid_t
  private var trace: String { directory.path + "/trace" }

  init(of pid: pid_t) throws {
    tracer = try ChildProcess.spawn(
      "/usr/bin/strace",
      [
        "-f", "-qq", "-e", "trace=seccomp,clone,clone3," + Self.calls.joined(separator: ","), "-o",
        directory.path + "/trace",
        "-p", "\(pid)",
      ])
    let isAttached = try becomes {
      read("/proc/\(pid)/status")?.contains("TracerPid:\t\(tracer)\n") == true
    }
    guard isAttached else { throw TestFailure("strace does not attach itself") }
  }

  /// How many filters were loaded, and the calls behind them that succeeded.
  func end() -> (shut: Int, opened: [String]) {
    kill(tracer, SIGTERM)
    _ = ChildProcess.wait(tracer)
    let lines = (read(trace) ?? "").split(separator: "\n").compactMap { TracedCall($0) }
    var shut: Set<Substring> = []
    var loaded = 0
    var opened: [String] = []
    for line in lines where line.result >= 0 {
      let isShut = shut.contains(line.thread)
      switch line.name {
      case "seccomp":
        shut.insert(line.thread)
        loaded += 1
      // The threads that it starts are shut as well.
      case "clone", "clone3": if isShut { shut.insert(Substring("\(line.result)")) }
      default: if isShut { opened.append(line.text) }
      }
    }
    return (loaded, opened)
  }
}

/// A call whose result a line of strace tells, `1234  open("/a", O_RDONLY) = 3` or `1234 <... open resumed>) = 3`.
private struct TracedCall {
  let thread: Substring
  let name: String
  let result: Int
  let text: String

  init?(_ line: Substring) {
    let words = line.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let equals = line.ranges(of: " = ").last else { return nil }
    let call = words[1].drop { $0 == " " }
    let start = call.hasPrefix("<... ") ? call.dropFirst(5) : call
    guard let result = Int(line[equals.upperBound...].prefix { $0 == "-" || $0.isNumber }) else { return nil }
    thread = words[0]
    name = String(start.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    self.result = result
    text = String(call)
  }
}
