package import ImgdSystem

/// The door to the transfer thread: every call leaves a message and returns at once.
package final class TransferEngine: Sendable {
  private let thread: LoopThread
  private let mailbox: Mailbox<TransferMessage>

  private init(thread: LoopThread, mailbox: Mailbox<TransferMessage>) {
    self.thread = thread
    self.mailbox = mailbox
  }

  /// Starts the thread; `report` is called on it, in order, and must not wait.
  package static func start(
    settings: TransferSettings, report: @escaping @Sendable (TransferEvent) -> Void
  ) throws(SystemFailure) -> TransferEngine {
    let (thread, mailbox) = try LoopThread.start(name: "imgd-transfer") {
      (loop: EventLoop) throws(SystemFailure) -> Mailbox<TransferMessage> in
      try loop.makeMailbox { message in
        if case .stop = message { loop.stop() }
      }
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
  case stop
}
