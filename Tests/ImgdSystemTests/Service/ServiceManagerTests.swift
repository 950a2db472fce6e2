import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

@Suite struct ServiceManagerTests {
  private let directory = TemporaryDirectory()
  private let name: String
  private let peer: DatagramPeer
  private let manager: ServiceManager

  init() throws {
    name = directory.path + "/notify"
    peer = try DatagramPeer(name)
    manager = ServiceManager(socket: name)
  }

  private func said() -> [String] { peer.drain().map(\.text) }

  private static func pipe() -> (reading: CInt, writing: CInt) {
    var ends: [CInt] = [-1, -1]
    Glibc.pipe(&ends)
    return (ends[0], ends[1])
  }

  // MARK: How the service is

  @Test func `each message is said in the manager's words`() {
    #expect(manager.isPresent)
    manager.ready(status: "all is well")
    manager.status("still")
    manager.stopping(status: "going")
    manager.extendTimeout(by: .seconds(20))
    manager.isAlive()
    manager.failing(status: "no room")
    #expect(
      said() == [
        "READY=1\nSTATUS=all is well", "STATUS=still", "STOPPING=1\nSTATUS=going",
        "EXTEND_TIMEOUT_USEC=20000000", "WATCHDOG=1", "STATUS=no room",
      ])
  }

  @Test func `a reload says when it began`() throws {
    func now() -> Int64 {
      var time = timespec()
      clock_gettime(CLOCK_MONOTONIC, &time)
      return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
    let before = now()
    manager.reloading()
    let lines = try #require(peer.receive()).lines
    #expect(lines.count == 2 && lines[0] == "RELOADING=1")
    let time = try #require(Int64(lines[1].dropFirst("MONOTONIC_USEC=".count)))
    #expect(lines[1].hasPrefix("MONOTONIC_USEC="))
    #expect((before...now()).contains(time))
  }

  @Test func `a name that is in no file system is reached as well`() throws {
    let name = "@imgd-test-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"
    let peer = try DatagramPeer(name)
    ServiceManager(socket: name).isAlive()
    #expect(peer.drain().map(\.text) == ["WATCHDOG=1"])
  }

  @Test(arguments: [
    ("a\nREADY=1", "a READY=1"), ("a\r\nMAINPID=1", "a MAINPID=1"), ("\n", " "),
    ("a\0b", "a b"), ("a\u{85}b\u{7f}", "a b "), ("", ""), ("größer\t=", "größer ="),
  ])
  func `a status cannot say anything else`(text: String, line: String) {
    // Swift sees "\r\n" as one character; it is two for the manager.
    let wanted = text.contains("\r\n") ? "a  MAINPID=1" : line
    manager.status(text)
    manager.ready(status: text)
    manager.stopping(status: text)
    #expect(
      said() == ["STATUS=\(wanted)", "READY=1\nSTATUS=\(wanted)", "STOPPING=1\nSTATUS=\(wanted)"])
  }

  /// A longer datagram is dropped, and the readiness in it with it.
  @Test func `a status is no longer than the manager reads`() throws {
    let text = String(repeating: "größer ", count: 10_000)
    manager.ready(status: text)
    let bytes = try #require(peer.receive()?.text)
    #expect(bytes.utf8.count <= 4_096)
    #expect(bytes.hasPrefix("READY=1\nSTATUS=größer größer "))
    #expect(bytes.hasSuffix("…"))
    #expect(!bytes.contains("\u{FFFD}"), "no character is cut in two")
    let fitting = String(repeating: "x", count: 1_000)
    manager.status(fitting)
    #expect(said() == ["STATUS=" + fitting])
  }

  // MARK: What it keeps

  @Test(arguments: [(1, [1]), (252, [252]), (253, [253]), (254, [253, 1]), (300, [253, 47])])
  func `descriptors go to the manager, as many at once as the kernel takes`(
    count: Int, parts: [Int]
  ) {
    let (reading, writing) = Self.pipe()
    defer { close(writing) }
    #expect(manager.keep(Array(repeating: reading, count: count), named: "memory"))
    close(reading)
    let messages = peer.drain()
    #expect(messages.map(\.descriptors.count) == parts)
    #expect(messages.allSatisfy { $0.text == "FDSTORE=1\nFDPOLL=0\nFDNAME=memory" })
    // They are the pipe's other end, and not just numbers.
    _ = write(writing, "x", 1)
    var byte: UInt8 = 0
    #expect(messages.last?.descriptors.last.map { read($0, &byte, 1) } == 1)
    #expect(byte == UInt8(ascii: "x"))
  }

  @Test func `nothing to keep is kept without a word`() {
    #expect(manager.keep([CInt](), named: "memory"))
    #expect(said().isEmpty)
  }

  @Test func `a descriptor that is closed cannot be kept`() {
    #expect(!manager.keep([-1], named: "memory"))
    #expect(said().isEmpty)
  }

  @Test func `what is kept under a name is forgotten`() {
    #expect(manager.forget(named: "memory"))
    #expect(said() == ["FDSTOREREMOVE=1\nFDNAME=memory"])
  }

  // MARK: Waiting

  @Test func `the manager has heard all when it has let the barrier go`() throws {
    let heard = Locked<Bool?>(nil)
    let thread = try JoinedThread { [manager] in
      let hasHeard = manager.waitUntilHeard(atMost: .seconds(20))
      heard.withLock { $0 = hasHeard }
    }
    let message = try #require(peer.receive())
    #expect(message.text == "BARRIER=1")
    #expect(message.descriptors.count == 1)
    #expect(heard.withLock { $0 } == nil)
    peer.letGo()
    thread.join()
    #expect(heard.withLock { $0 } == true)
  }

  @Test func `a manager that does not come so far has not heard`() {
    #expect(!manager.waitUntilHeard(atMost: .milliseconds(3)))
    #expect(said() == ["BARRIER=1"])
    #expect(!manager.waitUntilHeard(atMost: .zero))
  }

  // MARK: No manager, or none that listens

  @Test func `without a manager nothing is said`() {
    let nobody = ServiceManager(socket: nil)
    #expect(!nobody.isPresent)
    nobody.ready(status: "")
    nobody.isAlive()
    #expect(!nobody.keep([0], named: "memory"))
    #expect(!nobody.forget(named: "memory"))
    #expect(!nobody.waitUntilHeard(atMost: .seconds(20)))
  }

  @Test func `a manager that has gone stops nobody`() {
    let gone = ServiceManager(socket: directory.path + "/nobody")
    gone.ready(status: "")
    gone.isAlive()
    #expect(!gone.keep([0], named: "memory"))
    #expect(!gone.forget(named: "memory"))
    #expect(!gone.waitUntilHeard(atMost: .seconds(20)))
  }

  @Test func `what another call has left in errno says nothing without a manager`() {
    let nobody = ServiceManager(socket: nil)
    let start = Instant.current
    errno = EAGAIN
    nobody.ready(status: "")
    #expect(!nobody.forget(named: "memory"))
    #expect(!nobody.keep([0], named: "memory"))
    // Waiting for each of them would take seven seconds.
    #expect(Instant.current - start < .seconds(6))
  }

  @Test func `a manager that comes back is heard by again`() throws {
    unlink(name)
    manager.isAlive()
    let other = try DatagramPeer(name)
    manager.isAlive()
    #expect(other.drain().map(\.text) == ["WATCHDOG=1"])
  }

  @Test func `a full queue loses what may be lost, and holds up what may not`() throws {
    for _ in 0..<2_000 { manager.isAlive() }
    let answer = Locked<Bool?>(nil)
    let thread = try JoinedThread { [manager] in
      let isTold = manager.forget(named: "memory")
      answer.withLock { $0 = isTold }
    }
    var alive = 0
    while let message = peer.receive(), message.text == "WATCHDOG=1" { alive += 1 }
    thread.join()
    #expect(answer.withLock { $0 } == true)
    #expect(alive > 0 && alive < 2_000)
  }

  @Test func `what is said once is not lost to a full queue`() throws {
    for _ in 0..<2_000 { manager.isAlive() }
    let thread = try JoinedThread { [manager] in
      manager.reloading()
      manager.ready(status: "again")
      manager.stopping(status: "now")
    }
    var words: [String] = []
    while words.last != "STOPPING=1", let message = peer.receive() {
      if message.text != "WATCHDOG=1" { words.append(message.lines[0]) }
    }
    thread.join()
    #expect(words == ["RELOADING=1", "READY=1", "STOPPING=1"])
  }

  @Test func `a queue that stays full holds up for no more than a moment`() {
    for _ in 0..<2_000 { manager.isAlive() }
    let start = Instant.current
    for _ in 0..<30 {
      manager.isAlive()
      manager.status("lost")
    }
    #expect(Instant.current - start < .seconds(30), "a second each, if anybody waited")
    let begun = Instant.current
    manager.ready(status: "too late")
    let waited = Instant.current - begun
    #expect(waited >= .seconds(1) && waited < .seconds(30), "\(waited)")
    #expect(said().allSatisfy { $0 == "WATCHDOG=1" })
  }

  @Test func `no descriptor is left behind`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let peer = try DatagramPeer(directory.path + "/notify")
      let before = openDescriptors(of: "socket:")
      let pipes = openDescriptors(of: "pipe:")
      do {
        let manager = ServiceManager(socket: directory.path + "/notify")
        for _ in 0..<50 {
          precondition(!manager.waitUntilHeard(atMost: .seconds(-1)))
          _ = peer.drain()
          peer.letGo()
        }
      }
      precondition(openDescriptors(of: "socket:") == before)
      precondition(openDescriptors(of: "pipe:") == pipes)
    }
  }
}

/// A thread of the test's own that is waited for.
private final class JoinedThread {
  private final class Work {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()

  init(_ run: @escaping @Sendable () -> Void) throws {
    let work = Unmanaged.passRetained(Work(run)).toOpaque()
    let code = pthread_create(
      &thread, nil,
      { work in
        work.map { Unmanaged<Work>.fromOpaque($0).takeRetainedValue().run() }
        return nil
      }, work)
    guard code == 0 else { throw SystemFailure("pthread_create", errno: code) }
  }

  func join() { pthread_join(thread, nil) }
}
