internal import CLinux
import Glibc

/// The way into a loop from any thread: messages arrive in order, in a tick of the loop's own.
///
/// The loop is woken only when the mailbox was empty, so a burst of messages costs one wake-up.
package final class Mailbox<Message: Sendable>: Sendable {
  private let waiting = Locked<[Message]>([])
  private let bell: FileDescriptor

  fileprivate init() throws(SystemFailure) {
    let number = linux_eventfd()
    guard number >= 0 else { throw SystemFailure("eventfd") }
    bell = FileDescriptor(owning: number)
  }

  /// Leaves a message; never waits.
  package func post(_ message: Message) {
    let wasEmpty = waiting.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if wasEmpty { ring() }
  }

  fileprivate var descriptor: CInt { bell.number }

  fileprivate func collect() -> [Message] {
    silence()
    return waiting.withLock { messages in
      var collected: [Message] = []
      swap(&collected, &messages)
      return collected
    }
  }

  private func ring() {
    var one: UInt64 = 1
    _ = unsafe write(bell.number, &one, 8)
  }

  private func silence() {
    var count: UInt64 = 0
    _ = unsafe read(bell.number, &count, 8)
  }
}

extension EventLoop {
  /// A mailbox whose messages this loop receives for as long as it turns.
  package func makeMailbox<Message: Sendable>(
    _ receive: @escaping (Message) -> Void
  ) throws(SystemFailure) -> Mailbox<Message> {
    let mailbox = try Mailbox<Message>()
    _ = try watch(mailbox.descriptor, for: .read) { [unowned mailbox] _ in
      for message in mailbox.collect() { receive(message) }
    }
    keepAlive(mailbox)
    return mailbox
  }
}
