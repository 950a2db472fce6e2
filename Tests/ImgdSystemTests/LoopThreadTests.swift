import Glibc
import Testing

@testable import ImgdSystem

struct LoopThreadTests {
  private enum Order { case echo(Int), stop }

  @Test func `a loop thread returns its mailbox and runs until it is stopped`() throws {
    let echoed = Locked<[Int]>([])
    let (thread, mailbox) = try LoopThread.start(name: "loop") { loop throws(SystemFailure) in
      try loop.makeMailbox { (order: Order) in
        switch order {
        case .echo(let number): echoed.withLock { $0.append(number) }
        case .stop: loop.stop()
        }
      }
    }
    for number in 0..<1_000 { mailbox.post(.echo(number)) }
    mailbox.post(.stop)
    thread.join()
    thread.join()
    #expect(echoed.withLock { $0 } == Array(0..<1_000))
  }

  /// Or one that has no stack left would end the program without a word.
  @Test func `a thread has a second stack for signals, which goes with it`() throws {
    let places = Locked<[Int]>([])
    for _ in 0..<50 {
      try Thread(name: "thread") {
        var stack = stack_t()
        guard sigaltstack(nil, &stack) == 0, stack.ss_flags & CInt(SS_DISABLE) == 0, stack.ss_size >= 16 << 10
        else { return }
        places.withLock { $0.append(Int(bitPattern: stack.ss_sp)) }
      }.join()
    }
    let all = places.withLock { $0 }
    #expect(all.count == 50)
    #expect(Set(all).count < 50, "a place is free for the next thread")
  }

  /// Or each client that a program closes would leave its loop's descriptors behind.
  @Test func `a loop thread frees its loop at its end, though what it calls holds that`() throws {
    final class Witness: Sendable {
      let freed: Locked<Bool>

      init(_ freed: Locked<Bool>) { self.freed = freed }

      deinit { freed.withLock { $0 = true } }
    }
    let freed = Locked(false)
    let (thread, mailbox) = try LoopThread.start(name: "loop") { loop throws(SystemFailure) in
      let witness = Witness(freed)
      return try loop.makeMailbox { (_: Bool) in withExtendedLifetime(witness) { loop.stop() } }
    }
    mailbox.post(true)
    thread.join()
    #expect(freed.withLock { $0 })
  }

  @Test func `a loop thread that cannot start throws the reason`() {
    let failure = #expect(throws: SystemFailure.self) {
      _ = try LoopThread.start(name: "loop") { _ throws(SystemFailure) -> Int in
        throw SystemFailure("open", "/nowhere", errno: ENOENT)
      }
    }
    #expect(failure?.description == "open /nowhere: No such file or directory")
  }

  @Test func `a thread has its name`() throws {
    let name = Locked("")
    let thread = try Thread(name: "imgd-disk") {
      let file = FileDescriptor(owning: open("/proc/thread-self/comm", O_RDONLY))
      var letters = [UInt8](repeating: 0, count: 16)
      letters.removeLast(16 - max(read(file.number, &letters, 16) - 1, 0))
      name.withLock { $0 = String(decoding: letters, as: UTF8.self) }
    }
    thread.join()
    #expect(name.withLock { $0 } == "imgd-disk")
  }

  /// A thread that is not joined must not leave its stack behind.
  @Test func `a thread may be detached`() throws {
    let ended = Locked(0)
    for round in 1...40 {
      // Few at once, for a busy machine.
      for _ in 0..<50 { _ = try Thread(name: "short") { ended.signal { $0 += 1 } } }
      ended.wait { $0 == round * 50 ? () : nil }
    }
  }
}
