import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct MailboxTests {
  let clock = LoopClock.manual()
  let loop: EventLoop

  init() throws {
    loop = try EventLoop(clock: clock)
  }

  @Test func `messages arrive in order within a tick of the loop`() throws {
    var received: [Int] = []
    let mailbox = try loop.makeMailbox { received.append($0) }
    for number in 0..<50 { mailbox.post(number) }
    #expect(received.isEmpty)
    #expect(loop.tick(waiting: true))
    #expect(received == Array(0..<50))
    #expect(!loop.tick(waiting: false), "one burst is one wake-up")
  }

  @Test func `a flood of messages is received over several ticks, in order`() throws {
    var received: [Int] = []
    let mailbox = try loop.makeMailbox { received.append($0) }
    for number in 0..<500 { mailbox.post(number) }
    loop.tick(waiting: true)
    #expect(received == Array(0..<64))
    mailbox.post(500)
    loop.settle()
    #expect(received == Array(0...500))
  }

  @Test func `messages that take long are received a few in each tick`() throws {
    var received: [Int] = []
    let mailbox = try loop.makeMailbox {
      received.append($0)
      clock.advance(by: .microseconds(40))
    }
    for number in 0..<50 { mailbox.post(number) }
    loop.tick(waiting: true)
    #expect(received == Array(0..<4))
    mailbox.post(50)
    loop.tick(waiting: true)
    #expect(received == Array(0..<8))
    loop.settle()
    #expect(received == Array(0...50))
  }

  @Test func `a message from the loop itself arrives in the next tick`() throws {
    var received: [Int] = []
    var mailbox: Mailbox<Int>?
    mailbox = try loop.makeMailbox {
      received.append($0)
      if $0 < 3 { mailbox?.post($0 + 1) }
    }
    mailbox?.post(1)
    loop.tick(waiting: true)
    #expect(received == [1])
    loop.settle()
    #expect(received == [1, 2, 3])
  }

  @Test func `many threads may post at once`() throws {
    let (senders, each) = (4, 25_000)
    var next = [Int](repeating: 0, count: senders)
    var (received, isOrdered) = (0, true)
    let mailbox = try loop.makeMailbox { (message: (sender: Int, number: Int)) in
      isOrdered = isOrdered && message.number == next[message.sender]
      next[message.sender] += 1
      received += 1
      if received == senders * each { loop.stop() }
    }
    let threads = try (0..<senders).map { sender in
      try Thread(name: "sender") {
        for number in 0..<each { mailbox.post((sender, number)) }
      }
    }
    loop.run()
    for thread in threads { thread.join() }
    #expect(isOrdered)
    #expect(received == 100_000)
  }

  /// How often the bell's descriptor was written to since the last time.
  private func wakeups() -> UInt64 {
    var count: UInt64 = 0
    return read(loop.bell.descriptor, &count, 8) == 8 ? count : 0
  }

  @Test func `a loop that is awake is not woken`() throws {
    var received = 0
    let mailbox = try loop.makeMailbox { (_: Int) in received += 1 }
    for number in 0..<40 { mailbox.post(number) }
    loop.tick(waiting: true)
    for number in 0..<10 { mailbox.post(number) }
    loop.tick(waiting: true)
    #expect(received == 50)
    #expect(wakeups() == 0)
  }

  @Test func `a loop that sleeps is woken once`() throws {
    var received = 0
    let mailbox = try loop.makeMailbox { (_: Int) in received += 1 }
    #expect(loop.bell.fallAsleep())
    for number in 0..<10 { mailbox.post(number) }
    #expect(wakeups() == 1)
    loop.settle()
    #expect(received == 10)
  }

  @Test func `a loop does not fall asleep over a message`() throws {
    let mailbox = try loop.makeMailbox { (_: Int) in }
    mailbox.post(1)
    #expect(!loop.bell.fallAsleep())
    #expect(loop.bell.wakeUp())
    #expect(loop.bell.fallAsleep())
    #expect(!loop.bell.wakeUp())
  }

  /// Every message is sent to a loop that is about to fall asleep, by one that has just been woken.
  @Test func `no message to a loop that falls asleep is lost`() throws {
    let most = 20_000
    var received = 0
    let loop = try EventLoop()
    let alarm = loop.schedule(after: Patience.limit) { [loop] in loop.stop() }
    let echoes = Locked<[Mailbox<Int>]>([])
    let home = try loop.makeMailbox { (echo: Int) in
      received += 1
      if received == 3 * most { loop.stop() }
      echoes.withLock { $0[echo] }.post(echo)
    }
    let threads = try (0..<3).map { _ in
      try LoopThread.start(name: "echo") { loop throws(SystemFailure) in
        try loop.makeMailbox { (echo: Int) in echo < 0 ? loop.stop() : home.post(echo) }
      }
    }
    echoes.withLock { $0 = threads.map(\.1) }
    for (echo, thread) in threads.enumerated() { thread.1.post(echo) }
    loop.run()
    alarm.cancel()
    for thread in threads {
      thread.1.post(-1)
      thread.0.join()
    }
    #expect(received >= 3 * most)
  }

  @Test func `the loop may be freed while other threads post`() throws {
    var loop: EventLoop? = try EventLoop()
    let mailbox = try #require(try loop?.makeMailbox { (_: Int) in })
    let progress = Locked(0)
    let thread = try Thread(name: "sender") {
      for number in 0..<20_000 {
        mailbox.post(number)
        if number % 100 == 0 { progress.signal { $0 = number } }
      }
    }
    progress.wait { $0 > 5_000 ? () : nil }
    loop?.tick(waiting: false)
    loop = nil
    thread.join()
    mailbox.post(0)
  }
}
