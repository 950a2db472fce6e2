import Glibc
import ImgdSystem
import Testing

@testable import ImgdConnection

struct ControlConnectionTests {
  private func text(_ line: [UInt8]?) -> String? {
    line.map { String(decoding: $0, as: UTF8.self) }
  }

  private func size(_ descriptor: consuming FileDescriptor?) -> Int? {
    guard let file = descriptor else { return nil }
    return Int(lseek(file.number, 0, SEEK_END))
  }

  @Test func `lines are sent and received`() throws {
    let daemon = try ScriptedDaemon { [.line("you said " + $0), .line("more")] }
    let connection = try ControlConnection(path: daemon.path)
    connection.send(Array("one".utf8))
    connection.send(Array("two".utf8))
    for expected in ["you said one", "more", "you said two", "more"] {
      #expect(try text(connection.receive()) == expected)
    }
  }

  @Test func `descriptors arrive with their lines`() throws {
    let daemon = try ScriptedDaemon { request in
      [
        .line("plain"), .picture("first", Array("A".utf8)), .line("plain"),
        .picture("second", [UInt8](repeating: 66, count: 100_000)),
      ]
    }
    let connection = try ControlConnection(path: daemon.path)
    connection.send(Array("go".utf8))
    for _ in 0..<4 { _ = try connection.receive() }
    #expect(size(connection.takeDescriptor()) == 1)
    #expect(size(connection.takeDescriptor()) == 100_000)
    #expect(size(connection.takeDescriptor()) == nil)
  }

  @Test func `many requests before the first answer do not block`() throws {
    let filler = String(repeating: "x", count: 10_000)
    let daemon = try ScriptedDaemon { _ in [.line(filler)] }
    let connection = try ControlConnection(path: daemon.path)
    // More than the two sockets hold, or a client that only writes would get away with it.
    for _ in 0..<200 { connection.send(Array(filler.utf8)) }
    for _ in 0..<200 { #expect(try connection.receive()?.count == 10_000) }
  }

  @Test func `the reason for closing is read before the end`() throws {
    let daemon = try ScriptedDaemon { _ in [.line("too many"), .close] }
    let connection = try ControlConnection(path: daemon.path)
    connection.send(Array("go".utf8))
    #expect(try text(connection.receive()) == "too many")
    connection.send(Array("go".utf8))
    #expect(try connection.receive() == nil)
  }

  @Test func `waiting for a silent daemon ends`() throws {
    let daemon = try ScriptedDaemon { _ in [] }
    let connection = try ControlConnection(path: daemon.path)
    #expect(throws: ConnectionProblem.silent(path: daemon.path)) {
      try connection.receive(until: .current + .milliseconds(1))
    }
  }

  @Test func `a missing socket is named`() throws {
    #expect(throws: ConnectionProblem.noSocket(path: "/nonexistent/s")) {
      try ControlConnection(path: "/nonexistent/s")
    }
    let daemon = try ScriptedDaemon { _ in [] }
    let stale = daemon.path + "-stale"
    #expect(symlink(daemon.path, stale) == 0)
    defer { unlink(stale) }
    #expect(throws: Never.self) { try ControlConnection(path: stale) }
    #expect(throws: ConnectionProblem.notListening(path: "/dev/null")) {
      try ControlConnection(path: "/dev/null")
    }
    let tooLong = "/" + String(repeating: "x", count: 200)
    #expect(throws: ConnectionProblem.failed(path: tooLong, reason: "File name too long")) {
      try ControlConnection(path: tooLong)
    }
  }

  @Test(arguments: [
    (ENOENT, ConnectionProblem.noSocket(path: "s")), (ENOTDIR, .noSocket(path: "s")),
    (ECONNREFUSED, .notListening(path: "s")),
    (EACCES, .notPermitted(path: "s", remedy: "its directory is closed to this user")),
    (EPERM, .notPermitted(path: "s", remedy: "its directory is closed to this user")),
    (ECONNRESET, .closed(path: "s")),
    (EPIPE, .closed(path: "s")),
    (EMFILE, .failed(path: "s", reason: "Too many open files")),
  ])
  func `system errors are translated to connection problems`(code: CInt, problem: ConnectionProblem) {
    #expect(ConnectionProblem(SystemFailure("connect", "s", errno: code), path: "s") == problem)
    #expect(problem.description.contains("s"))
  }
}
