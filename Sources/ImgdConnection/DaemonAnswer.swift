package import ImgdSystem

/// The line that ended a request, and the picture that came with it.
package final class DaemonAnswer {
  package let reply: Reply
  private var descriptor: FileDescriptor?

  init(_ reply: Reply, _ descriptor: consuming FileDescriptor?) {
    self.reply = reply
    self.descriptor = descriptor
  }

  /// Whether a picture came with the answer and was not taken yet.
  package var hasDescriptor: Bool { descriptor != nil }

  /// The picture, if one came with the answer and was not taken yet.
  package func takeDescriptor() -> FileDescriptor? { descriptor.take() }
}
