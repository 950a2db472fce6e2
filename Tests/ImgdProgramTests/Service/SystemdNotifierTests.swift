import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdProgram

private let notifier = SystemdNotifier()

/// The datagrams that libsystemd sends to the service manager.
struct SystemdNotifierTests {
  /// A payload in a memfd.
  private static func memory() throws -> Payload {
    try Payload(Array("picture".utf8)).shareable()
  }

  @Test func `each message has the text that the manager expects`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      let messages: [SystemdMessage] = [
        .ready(status: "all is well"), .status("still"), .stopping(status: "going"),
        .extendTimeout(.seconds(20)), .alive, .reloading(since: Instant(nanoseconds: 1_234_567)),
        .removeDescriptors(named: "memory"),
      ]
      for message in messages { #expect(notifier.send(message)) }
      #expect(
        manager.drain().map(\.text) == [
          "READY=1\nSTATUS=all is well", "STATUS=still", "STOPPING=1\nSTATUS=going",
          "EXTEND_TIMEOUT_USEC=20000000", "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=1234",
          "FDSTOREREMOVE=1\nFDNAME=memory",
        ])
    }
  }

  @Test(arguments: [
    ("a\nREADY=1", "a READY=1"), ("a\r\nMAINPID=1", "a  MAINPID=1"), ("\n", " "),
    ("a\0b", "a b"), ("a\u{85}b\u{7f}", "a b "), ("", ""), ("größer\t=", "größer ="),
  ])
  func `a status contains no other assignment`(text: String, line: String) {
    #expect(SystemdMessage.status(text).text == "STATUS=\(line)")
    #expect(SystemdMessage.ready(status: text).text == "READY=1\nSTATUS=\(line)")
    #expect(SystemdMessage.stopping(status: text).text == "STOPPING=1\nSTATUS=\(line)")
  }

  /// The manager drops a longer datagram, and the readiness with it.
  @Test func `a status is no longer than the manager reads`() {
    let text = SystemdMessage.ready(status: String(repeating: "größer ", count: 10_000)).text
    #expect(text.utf8.count <= 4_096)
    #expect(text.hasPrefix("READY=1\nSTATUS=größer größer "))
    #expect(text.hasSuffix("…"))
    let fitting = String(repeating: "x", count: 1_000)
    #expect(SystemdMessage.status(fitting).text == "STATUS=" + fitting)
  }

  // MARK: Descriptor store

  @Test func `descriptors go to the manager, as many at once as the kernel takes`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      let payload = try SystemdNotifierTests.memory()
      for (count, parts) in [(1, [1]), (252, [252]), (253, [253]), (254, [253, 1])] {
        #expect(notifier.store(Array(repeating: payload, count: count), named: "memory"))
        let messages = manager.drain()
        #expect(messages.map(\.descriptors.count) == parts)
        #expect(messages.allSatisfy { $0.text == "FDSTORE=1\nFDPOLL=0\nFDNAME=memory" })
        // They are the memfd, and not just numbers.
        var bytes = [UInt8](repeating: 0, count: 7)
        let number = try #require(messages.last?.descriptors.last)
        #expect(pread(number, &bytes, 7, 0) == 7 && bytes == payload.bytes)
        manager.letGo()
      }
    }
  }

  @Test func `payloads on the heap are not sent`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      #expect(notifier.store([Payload([1, 2, 3])], named: "memory"))
      #expect(notifier.store([], named: "memory"))
      #expect(manager.drain().isEmpty)
    }
  }

  // MARK: Waiting

  @Test func `everything is processed when the manager has closed the barrier`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      let outcome = Shared<Bool?>(nil)
      let thread = try ImgdSystem.Thread(name: "barrier") {
        let isProcessed = notifier.waitUntilProcessed(atMost: Patience.limit)
        outcome.with { $0 = isProcessed }
      }
      let message = try #require(manager.receive())
      #expect(message.text == "BARRIER=1")
      #expect(message.descriptors.count == 1)
      #expect(outcome.with { $0 } == nil)
      manager.letGo()
      thread.join()
      #expect(outcome.with { $0 } == true)
    }
  }

  @Test func `a manager that does not reach the barrier has not processed everything`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      #expect(!notifier.waitUntilProcessed(atMost: .milliseconds(3)))
      #expect(manager.drain().map(\.text) == ["BARRIER=1"])
      #expect(!notifier.waitUntilProcessed(atMost: .zero))
    }
  }

  // MARK: No manager

  @Test func `without a manager nothing is sent`() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      let payload = try SystemdNotifierTests.memory()
      #expect(!notifier.send(.alive))
      #expect(!notifier.store([payload], named: "memory"))
      #expect(!notifier.remove(named: "memory"))
      #expect(!notifier.waitUntilProcessed(atMost: Patience.limit))
    }
  }

  @Test func `an unreachable manager is no obstacle`() async {
    await #expect(processExitsWith: .success) {
      for name in ["relative", "@", "vsock:2:1234", "/nowhere/notify", "@nobody"] {
        setenv("NOTIFY_SOCKET", name, 1)
        #expect(!notifier.send(.ready(status: "")), "\(name)")
        #expect(!notifier.remove(named: "memory"))
        #expect(!notifier.waitUntilProcessed(atMost: Patience.limit))
      }
    }
  }

  @Test func `a manager that comes back gets messages again`() async {
    await #expect(processExitsWith: .success) {
      var manager: DatagramPeer? = try makeManager()
      let name = String(cString: getenv("NOTIFY_SOCKET"))
      #expect(notifier.send(.alive))
      #expect(manager?.drain().count == 1)
      manager = nil
      #expect(!notifier.send(.alive))
      let other = try DatagramPeer(name)
      #expect(notifier.send(.alive))
      #expect(other.drain().map(\.text) == ["WATCHDOG=1"])
    }
  }
}
