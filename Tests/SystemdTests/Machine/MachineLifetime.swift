// A machine of the test's own: the systemd of this one as PID 1, over a copy of its files.
//
//     @Suite(.machine) struct RestartTests {
//       @Test func `the socket stays`() throws {
//         let machine = try Machine(layers: [Layer.imgd]) // 0.3 s, with imgd installed
//         let origin = try machine.origin()               // 127.0.0.1 inside, gates and all
//         try machine.perform("systemctl start imgd")     // must succeed
//         try machine.perform("systemctl restart imgd")
//         let client = try machine.connect()              // a TestClient at /run/imgd/imgd.sock
//         #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"]?.bool == true)
//         ...
//
// `.machine` skips the suite, with the reason, where no machine can be booted. It also gives every
// test a thread of its own: such tests mostly wait, and the threads that all tests share are few.
//
// Files inside are reached under `path(_:)`, sockets too. A program inside has another number there
// than out here; `process(of:)` answers the one that counts here: for /proc, `kill`, `ThreadHold`.
// What a test does not put away goes with the machine, and that goes with the test, even when the
// test is killed: see `boot`.

import Glibc
import ImgdTestSupport

final class Machine: Sendable {
  /// The number that its PID 1 has out here.
  let number: pid_t
  private let script: pid_t
  /// The machine runs until this is closed.
  private let lifeline: CInt

  /// Boots, as soon as there is room for one more. Layers lie over the copy of the files, and each
  /// over those before it.
  init(layers: [Layer] = []) throws {
    Self.room.take()
    let ends = try Self.makeLifeline()
    let log = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(log) }
    script = try ChildProcess.spawn(
      Project.path("Tests/SystemdTests/boot"),
      ["--bind", Project.root] + layers.flatMap { ["--layer", $0.files] },
      output: log + "/said", channel: ends.far)
    close(ends.far)
    lifeline = ends.near
    let booted = withExtendedLifetime(layers) { Self.number(from: ends.near) }
    guard let number = booted else {
      Self.end(script, lifeline)
      throw TestFailure("no machine: \(read(log + "/said") ?? "")")
    }
    self.number = number
  }

  deinit { Self.end(script, lifeline) }

  private static func end(_ script: pid_t, _ lifeline: CInt) {
    close(lifeline)
    _ = ChildProcess.wait(script)
    room.giveBack()
  }

  /// Nothing else that this process starts meanwhile may hold an end.
  private static func makeLifeline() throws -> (near: CInt, far: CInt) {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw TestFailure("socketpair: errno \(errno)")
    }
    return (ends[0], ends[1])
  }

  /// What the script says when the machine is up; nil when it ends instead.
  private static func number(from lifeline: CInt) -> pid_t? {
    var line: [UInt8] = []
    var byte: UInt8 = 0
    while recv(lifeline, &byte, 1, 0) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
    return pid_t(String(decoding: line, as: UTF8.self))
  }

  /// More at once would only take each other's time.
  private static let room = Room(for: 4)
}

/// A count of what may be there at once.
private struct Room: Sendable {
  private let free: Shared<Int>

  init(for count: Int) { free = Shared(count) }

  /// Those that come last wait for all the others.
  func take() {
    let found: Void? = free.wait(atMost: .seconds(7_200)) { free in
      guard free > 0 else { return nil }
      free -= 1
    }
    precondition(found != nil, "machines go when their tests have ended")
  }

  func giveBack() { free.with { $0 += 1 } }
}

/// The tree that these tests are from, and what was built in it.
enum Project {
  static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }

  static func path(_ path: String) -> String { root + "/" + path }
}
