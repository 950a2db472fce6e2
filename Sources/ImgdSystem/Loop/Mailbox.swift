internal import CLinux
import Glibc
import Synchronization

/// Sends messages from any thread to a loop, which receives them in order, within a tick. The loop is woken only when
/// it sleeps, so a burst of messages costs one wake-up, and messages to a busy loop cost none.
package final class Mailbox<Message: Sendable>: Sendable {
  private let waiting = Locked<[Message]>([])
  private let bell: LoopBell

  fileprivate init(_ bell: LoopBell) { self.bell = bell }

  /// Adds a message; never waits.
  package func post(_ message: Message) {
    let wasEmpty = waiting.withLock { messages in
      messages.append(message)
      return messages.count == 1
    }
    if wasEmpty { bell.ring() }
  }

  fileprivate func collect() -> [Message] {
    waiting.withLock { messages in
      var collected: [Message] = []
      swap(&collected, &messages)
      return collected
    }
  }
}

extension EventLoop {
  /// A mailbox whose messages this loop receives for as long as it exists.
  package func makeMailbox<Message: Sendable>(_ receive: @escaping (Message) -> Void) throws(SystemFailure) -> Mailbox<
    Message
  > {
    let mailbox = Mailbox<Message>(bell)
    let delivery = Delivery(on: self, to: receive)
    addMail { delivery.deliver(mailbox.collect()) }
    return mailbox
  }
}

/// Hands out the messages of a mailbox in order, in each tick as many as its share of time allows.
private final class Delivery<Message> {
  private static var mostPerTick: Int { 64 }
  /// The share in nanoseconds. One message may be the end of a download, with all that follows from it.
  private static var share: Int64 { 100_000 }
  private static var messagesBetweenLooks: Int { 2 }

  private let loop: Unowned<EventLoop>
  private let receive: (Message) -> Void
  /// As they came, from the next one on: put into a queue one by one, each would be copied once more.
  private var waiting: [Message] = []
  private var place = 0
  private var isDue = false

  init(on loop: EventLoop, to receive: @escaping (Message) -> Void) {
    self.loop = Unowned(loop)
    self.receive = receive
  }

  func deliver(_ messages: [Message]) -> Bool {
    guard !messages.isEmpty else { return false }
    if waiting.isEmpty { waiting = messages } else { waiting += messages }
    if !isDue { deliverSome() }
    return true
  }

  private func deliverSome() {
    isDue = false
    let end = loop.object.moment.nanoseconds + Self.share
    for count in 1...Self.mostPerTick {
      place += 1
      receive(waiting[place - 1])
      guard place < waiting.count else {
        (waiting, place) = ([], 0)
        return
      }
      if count % Self.messagesBetweenLooks == 0, loop.object.moment.nanoseconds >= end { break }
    }
    forgetReceived()
    isDue = true
    loop.object.nextTick { [self] in deliverSome() }
  }

  /// Moves at most as many messages as have been received since the last time.
  private func forgetReceived() {
    guard 2 * place >= waiting.count else { return }
    waiting.removeFirst(place)
    place = 0
  }
}

/// Wakes a loop that sleeps; one that is awake looks anyway before it sleeps. A thread that has left something for
/// the loop sets its state to `rung`, and writes to the descriptor only if it was `asleep`. The loop falls asleep
/// only if the state is `awake`, so that an earlier ring is seen, and a later one writes: none is lost.
final class LoopBell: Sendable {
  private static let awake: UInt8 = 0
  private static let asleep: UInt8 = 1
  private static let rung: UInt8 = 2

  private let state = Atomic(LoopBell.awake)
  private let wakeup: FileDescriptor

  init() throws(SystemFailure) { wakeup = try FileDescriptor(returned: linux_eventfd(), by: "eventfd") }

  /// Readable once for each write, when watched for edges: nobody needs to read it.
  var descriptor: CInt { wakeup.number }

  /// Makes the loop look for what was left for it; called on any thread, after leaving it.
  func ring() {
    guard state.exchange(Self.rung, ordering: .acquiringAndReleasing) == Self.asleep else { return }
    var one: UInt64 = 1
    _ = unsafe write(wakeup.number, &one, 8)
  }

  /// Says that the loop is going to sleep; false when it must look first.
  func fallAsleep() -> Bool {
    state.compareExchange(expected: Self.awake, desired: Self.asleep, ordering: .acquiringAndReleasing).exchanged
  }

  /// Says that the loop is awake; true when it must look.
  func wakeUp() -> Bool { state.exchange(Self.awake, ordering: .acquiringAndReleasing) == Self.rung }
}
