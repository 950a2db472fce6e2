package import ImgdConnection
package import ImgdSystem

/// The daemon's answer to one request.
package final class DaemonAnswer {
  package let reply: Reply
  private var descriptor: FileDescriptor?

  init(_ reply: Reply, _ descriptor: consuming FileDescriptor?) {
    self.reply = reply
    self.descriptor = descriptor
  }

  /// The picture, if one came with the answer and was not taken yet.
  package func takeDescriptor() -> FileDescriptor? { descriptor.take() }
}

/// The gateway's connection to the daemon, made when it is needed and anew after a restart.
package final class DaemonLink {
  private let loop: EventLoop
  private let path: () -> String

  package init(on loop: EventLoop, path: @escaping () -> String) {
    self.loop = loop
    self.path = path
  }

  /// Sends a request, and has its answer called with, once.
  @discardableResult
  package func ask(
    _ request: RequestLine, _ done: @escaping (Result<DaemonAnswer, ConnectionProblem>) -> Void
  ) -> DaemonCall {
    DaemonCall()
  }
}

/// A request of the gateway that is under way.
package final class DaemonCall {
  /// Nobody waits for it any more: a fetch is cancelled by its receipt.
  package func cancel() {}
}
