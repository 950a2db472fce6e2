// Fetches URLs on a thread of its own.
//
// Connecting, TLS and certificates burn milliseconds, which must not delay anybody who asks for a
// picture that is there already. So everything about the network lives on one thread, around one
// loop, and only values cross its line: orders go in, events come out. On the inside
//
//   TransferDesk   knows the transfers by their serials,
//   Transfer       goes one order's way: hops, retries, the deadline,
//   Exchange       is one request with its response,
//   PartialBodies  keeps what came of bodies that broke off,
//   CurlMulti      lets libcurl wait in our loop.
//
// No thread but that one touches any of them, and the compiler sees to it: they are not Sendable.

internal import CCurl
import Glibc
package import ImgdSystem

/// The door to the transfer thread: every call leaves a message and returns at once.
package final class TransferEngine: Sendable {
  private let thread: LoopThread
  private let mailbox: Mailbox<TransferMessage>

  private init(thread: LoopThread, mailbox: Mailbox<TransferMessage>) {
    self.thread = thread
    self.mailbox = mailbox
  }

  /// curl is made ready once for the process; it is never taken down.
  private static let isCurlReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Starts the thread; `report` is called on it, in order, and must not wait.
  package static func start(
    settings: TransferSettings, report: @escaping @Sendable (TransferEvent) -> Void
  ) throws(SystemFailure) -> TransferEngine {
    guard isCurlReady else { throw SystemFailure("curl_global_init", errno: ENOMEM) }
    let (thread, mailbox) = try LoopThread.start(name: "imgd-transfer") {
      (loop: EventLoop) throws(SystemFailure) -> Mailbox<TransferMessage> in
      let desk = try TransferDesk(loop: loop, settings: settings, report: report)
      return try loop.makeMailbox { message in desk.receive(message) }
    }
    return TransferEngine(thread: thread, mailbox: mailbox)
  }

  /// Begins a transfer; all news of it carries the order's serial.
  package func begin(_ order: TransferOrder) {
    mailbox.post(.begin(order))
  }

  /// Changes the limits of a transfer that may be under way; the deadline counts from its begin.
  package func adjust(serial: UInt64, maxBytes: Int, deadline: Duration) {
    mailbox.post(.adjust(serial: serial, maxBytes: maxBytes, deadline: deadline))
  }

  /// Ends a transfer without a word; news that is on its way already may still arrive.
  package func abort(serial: UInt64) {
    mailbox.post(.abort(serial: serial))
  }

  /// Takes over new settings for the transfers that begin from now on.
  package func apply(_ settings: TransferSettings) {
    mailbox.post(.apply(settings))
  }

  /// Lets go of the bodies that broke off and wait to be continued, 32 MB at most.
  package func dropPartials() {
    mailbox.post(.dropPartials)
  }

  /// Calls `answer` on the transfer thread, in a tick of its loop.
  package func askForLife(_ answer: @escaping @Sendable () -> Void) {
    mailbox.post(.askForLife(answer))
  }

  /// Aborts everything, ends the thread and waits for its end. Not to be called from `report`.
  package func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// What other threads have to say to the transfer thread.
enum TransferMessage: Sendable {
  case begin(TransferOrder)
  case adjust(serial: UInt64, maxBytes: Int, deadline: Duration)
  case abort(serial: UInt64)
  case apply(TransferSettings)
  case dropPartials
  case askForLife(@Sendable () -> Void)
  case stop
}
