package import ImgdSystem

/// An answer of HTTP as it is sent: made once, and given to as many requests as want the same.
package final class HTTPResponse {
  /// What follows the header fields.
  package enum Body: ~Copyable {
    case bytes([UInt8])
    /// A part of a file, sent by the kernel without a copy.
    case file(FileDescriptor, Range<Int>)
    /// Text that comes bit by bit, until the stream is closed.
    case stream(HTTPStream)
  }

  package let status: Int

  /// The length of the body is the server's to name.
  package init(status: Int, fields: [(name: String, value: String)], body: consuming Body) {
    self.status = status
  }
}

/// A body that is written while it is read.
package final class HTTPStream {
  /// Called once, when its reader has gone or is told that there is no more.
  package var onEnd: () -> Void = {}
  /// The bytes that its reader has not taken yet.
  package var unsent: Int { 0 }

  package init() {}

  /// Adds bytes for the reader.
  package func write(_ bytes: [UInt8]) {}

  /// Ends the body.
  package func close() {}
}
