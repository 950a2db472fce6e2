// Fetches URLs on a thread of its own.
//
// Connecting, TLS and certificates take milliseconds, which must not delay requests for cached
// pictures. So all network access is on one thread with one loop, and only values cross: orders go
// in, events come out. On that thread
//
//   TransferTable  holds the transfers by serial,
//   Transfer       carries out one order: hops, retries, the deadline,
//   Exchange       is one request with its response,
//   NameResolver   finds the addresses of names, with the help of a few more threads,
//   PartialBodies  keeps bodies that broke off, to be continued,
//   CurlMulti      runs libcurl on the loop.
//
// They are not Sendable, so the compiler keeps them on that thread.

internal import CCurl
import Glibc
package import ImgdSystem

/// Downloads URLs on the transfer thread; every call posts a message and returns at once.
package final class TransferEngine: Sendable {
  private let thread: LoopThread
  private let mailbox: Mailbox<TransferMessage>
  private let count: HoldingsCount

  private init(thread: LoopThread, mailbox: Mailbox<TransferMessage>, count: HoldingsCount) {
    self.thread = thread
    self.mailbox = mailbox
    self.count = count
  }

  /// curl is initialised once for the process, and never cleaned up.
  private static let isCurlReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Starts the thread; `report` is called on it, in order, and must not wait.
  package static func start(settings: TransferSettings, report: @escaping @Sendable (TransferEvent) -> Void)
    throws(SystemFailure) -> TransferEngine
  {
    try start(settings: settings, lookUp: NameAnswer.fromSystem, report: report)
  }

  /// Starts an engine whose names are looked up by `lookUp`, on threads of its own.
  static func start(
    settings: TransferSettings, lookUp: @escaping @Sendable (String) -> NameAnswer,
    report: @escaping @Sendable (TransferEvent) -> Void
  ) throws(SystemFailure) -> TransferEngine {
    guard isCurlReady else { throw SystemFailure("curl_global_init", errno: ENOMEM) }
    let count = HoldingsCount()
    let (thread, mailbox) = try LoopThread.start(name: "imgd-transfer") {
      (loop: EventLoop) throws(SystemFailure) -> Mailbox<TransferMessage> in
      let table = try TransferTable(
        loop: loop, settings: settings, names: NameResolver(loop: loop, count: count, lookUp: lookUp), count: count,
        report: report)
      return try loop.makeMailbox { message in table.receive(message) }
    }
    return TransferEngine(thread: thread, mailbox: mailbox, count: count)
  }

  /// Begins a transfer; all its events carry the order's serial.
  package func begin(_ order: TransferOrder) { mailbox.post(.begin(order)) }

  /// Changes the limits of a transfer, if it is still under way; the deadline counts from its beginning.
  package func adjust(serial: UInt64, maxBytes: Int, deadline: Duration) {
    mailbox.post(.adjust(serial: serial, maxBytes: maxBytes, deadline: deadline))
  }

  /// Ends a transfer without an event; events already on their way may still arrive.
  package func abort(serial: UInt64) { mailbox.post(.abort(serial: serial)) }

  /// Applies new settings to transfers that begin from now on.
  package func apply(_ settings: TransferSettings) { mailbox.post(.apply(settings)) }

  /// Frees the partial bodies that wait to be continued, at most 32 MB.
  package func dropPartials() { mailbox.post(.dropPartials) }

  /// What the engine holds; reading it does not wait for the engine.
  package var holdings: TransferHoldings { count.all }

  /// Calls `answer` on the transfer thread, in a tick of its loop.
  package func askForLife(_ answer: @escaping @Sendable () -> Void) { mailbox.post(.askForLife(answer)) }

  /// Aborts everything, ends the thread and waits for its end. Not to be called from `report`.
  package func stop() {
    mailbox.post(.stop)
    thread.join()
  }
}

/// The messages of other threads to the transfer thread.
enum TransferMessage: Sendable {
  case begin(TransferOrder)
  case adjust(serial: UInt64, maxBytes: Int, deadline: Duration)
  case abort(serial: UInt64)
  case apply(TransferSettings)
  case dropPartials
  case askForLife(@Sendable () -> Void)
  case stop
}
