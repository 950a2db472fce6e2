internal import CLinux
import Glibc

/// Sends messages from any thread to a loop, which receives them in order, within a tick.
///
/// The loop is woken only when the mailbox was empty, so a burst of messages costs one wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
  private let waiting = Locked<[Message]>([])
  private let wakeup: FileDescriptor

  fileprivate init() throws(SystemFailure) {
    let number = linux_eventfd()
    guard number >= 0 else { throw SystemFailure("eventfd") }
    wakeup = FileDescriptor(owning: number)
  }

  /// Adds a message; never waits.
  package func post(_ message: Message) {
    let wasEmpty = waiting.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if wasEmpty { wake() }
  }

  fileprivate var descriptor: CInt { wakeup.number }

  fileprivate func collect() -> [Message] {
    resetWakeup()
    return waiting.withLock { messages in
      var collected: [Message] = []
      swap(&collected, &messages)
      return collected
    }
  }

  private func wake() {
    var one: UInt64 = 1
    _ = unsafe write(wakeup.number, &one, 8)
  }

  private func resetWakeup() {
    var count: UInt64 = 0
    _ = unsafe read(wakeup.number, &count, 8)
  }
}

extension EventLoop {
  /// A mailbox whose messages this loop receives for as long as it exists.
  package func makeMailbox<Message: Sendable>(
    _ receive: @escaping (Message) -> Void
  ) throws(SystemFailure) -> Mailbox<Message> {
    let mailbox = try Mailbox<Message>()
    let delivery = Delivery(on: self, to: receive)
    _ = try watch(mailbox.descriptor, for: .read) { [unowned mailbox] _ in
      delivery.deliver(mailbox.collect())
    }
    keepAlive(mailbox)
    return mailbox
  }
}

/// Hands out the messages of a mailbox in order, some in each tick.
private final class Delivery<Message> {
  private static var mostPerTick: Int { 64 }

  private unowned let loop: EventLoop
  private let receive: (Message) -> Void
  private var waiting = Fifo<Message>()
  private var isDue = false

  init(on loop: EventLoop, to receive: @escaping (Message) -> Void) {
    self.loop = loop
    self.receive = receive
  }

  func deliver(_ messages: [Message]) {
    for message in messages { waiting.append(message) }
    if !isDue { deliverSome() }
  }

  private func deliverSome() {
    isDue = false
    for _ in 0..<Self.mostPerTick {
      guard let message = waiting.popFirst() else { return }
      receive(message)
    }
    guard !waiting.isEmpty else { return }
    isDue = true
    loop.nextTick { [self] in deliverSome() }
  }
}
