import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdProgram

struct SystemdMessengerTests {
  @Test func `messages arrive in the order in which they were posted`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      let loop = try EventLoop()
      let messenger = try SystemdMessenger(hasManager: true, on: loop)
      messenger.post(.ready(status: "a"))
      messenger.perform({ $0.remove(named: "memory") }, then: { _ in loop.stop() })
      loop.run()
      messenger.post(.stopping(status: "b"))
      messenger.post(.extendTimeout(.seconds(1)))
      #expect(messenger.finish(within: Patience.limit))
      #expect(
        manager.drain().map(\.lines[0]) == [
          "READY=1", "FDSTOREREMOVE=1", "STOPPING=1", "EXTEND_TIMEOUT_USEC=1000000",
        ])
    }
  }

  /// Each call returns at once, and a few messages wait, however many were posted.
  @Test func `a manager that reads nothing delays neither the loop nor the end`() async {
    await #expect(processExitsWith: .success) {
      let manager = try makeManager()
      try manager.fillQueue()
      let loop = try EventLoop()
      let messenger = try SystemdMessenger(hasManager: true, on: loop)
      messenger.post(.ready(status: "start"))
      for number in 0..<1_000 {
        messenger.post(.status("\(number)"))
        messenger.post(.alive)
        messenger.post(.reloading(since: .current))
        messenger.post(.ready(status: "reload \(number)"))
        loop.settle()
      }
      messenger.post(.status("last"))
      messenger.post(.stopping(status: "end"))
      messenger.flush()
      #expect(!messenger.finish(within: .milliseconds(10)))

      var lines: [String] = []
      while lines.last != "STATUS=end", let message = manager.receive() {
        if message.text != "busy" { lines += message.lines }
      }
      let reload = lines.indices.contains(4) ? lines[4] : ""
      #expect(reload.hasPrefix("MONOTONIC_USEC="))
      #expect(
        lines == [
          "READY=1", "STATUS=start", "WATCHDOG=1", "RELOADING=1", reload, "READY=1",
          "STATUS=reload 999", "STOPPING=1", "STATUS=end",
        ])
    }
  }

  @Test func `without a manager nothing is posted`() throws {
    let messenger = try SystemdMessenger(hasManager: false, on: try EventLoop())
    #expect(!messenger.hasManager)
    messenger.post(.alive)
    messenger.perform { _ in Issue.record("there is no thread") }
    #expect(messenger.finish(within: .zero))
  }
}

struct MessageBacklogTests {
  private static let start = SystemdMessage.reloading(since: Instant(nanoseconds: 1))
  private static let again = SystemdMessage.reloading(since: Instant(nanoseconds: 2))

  @Test(
    arguments: [
      ([.alive, .alive], [.alive]),
      ([.status("a"), .alive, .status("b")], [.alive, .status("b")]),
      ([.status("a"), .ready(status: "b")], [.ready(status: "b")]),
      ([.ready(status: "a"), .status("b")], [.ready(status: "a"), .status("b")]),
      ([.status("a"), .stopping(status: "b")], [.stopping(status: "b")]),
      ([start, .ready(status: "a"), again], [again]),
      ([.ready(status: "a"), start], [.ready(status: "a"), start]),
      (
        [.ready(status: "a"), start, .alive, .ready(status: "b"), again, .ready(status: "c")],
        [.ready(status: "a"), .alive, again, .ready(status: "c")]
      ),
      ([.ready(status: "a"), start, again], [.ready(status: "a"), start, again]),
      (
        [.extendTimeout(.seconds(1)), .extendTimeout(.seconds(1))],
        [.extendTimeout(.seconds(1)), .extendTimeout(.seconds(1))]
      ),
      (
        [.removeDescriptors(named: "a"), .removeDescriptors(named: "b")],
        [.removeDescriptors(named: "a"), .removeDescriptors(named: "b")]
      ),
    ] as [([SystemdMessage], [SystemdMessage])])
  func `a later message replaces earlier ones of less weight`(
    posted: [SystemdMessage], left: [SystemdMessage]
  ) {
    var backlog = MessageBacklog()
    for message in posted { backlog.add(message) }
    #expect(backlog.messages == left)
    #expect(backlog.removeAll() == left)
    #expect(backlog.messages.isEmpty)
  }
}
