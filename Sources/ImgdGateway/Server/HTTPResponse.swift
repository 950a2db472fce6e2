internal import CMicrohttpd
package import ImgdSystem

// Safe: the library's form is private, and kept for as long as this object.
/// An HTTP answer as it is sent: made once, and given to as many requests as want the same.
@safe package final class HTTPResponse {
  /// What follows the header fields.
  package enum Body {
    case bytes([UInt8])
    /// Nothing, but the length that the body would have: for a 304.
    case length(Int)
    /// A part of the file, sent by the kernel without a copy.
    case file(Range<Int>)
    /// Text that comes bit by bit, until the stream is closed; for one request.
    case stream(HTTPStream)
  }

  package let status: Int
  package let fields: [(name: String, value: String)]
  package let body: Body
  private var descriptor: FileDescriptor?
  /// The library's form of the answer, made when it is first sent.
  private var native: OpaquePointer?

  /// The server itself sets the length of the body. A field that HTTP does not permit is left out.
  package init(
    status: Int, fields: [(name: String, value: String)], body: Body, of file: consuming FileDescriptor? = nil
  ) {
    self.status = status
    self.fields = fields
    self.body = body
    descriptor = consume file
  }

  deinit { if let native = unsafe native { unsafe MHD_destroy_response(native) } }

  var stream: HTTPStream? {
    guard case .stream(let stream) = body else { return nil }
    return stream
  }

  /// The bytes of a body that is there as a whole.
  var bodyLength: Int {
    switch body {
    case .bytes(let bytes): bytes.count
    case .file(let range): range.count
    case .length, .stream: 0
    }
  }

  /// Begins to send this as the answer of a connection; false if memory is short.
  func queue(on connection: OpaquePointer) -> Bool {
    if unsafe native == nil { unsafe native = make() }
    guard let native = unsafe native else { return false }
    return unsafe MHD_queue_response(connection, UInt32(clamping: status), native) == .YES
  }

  private func make() -> OpaquePointer? {
    guard let made = unsafe makeBody() else { return nil }
    for field in fields {
      // The library refuses fields that would end the line.
      _ = unsafe MHD_add_response_header(made, field.name, field.value)
    }
    return unsafe made
  }

  private func makeBody() -> OpaquePointer? {
    switch body {
    case .bytes(let bytes):
      return unsafe bytes.withUnsafeBytes { room in
        // Copied by the library, which does not write to it.
        unsafe MHD_create_response_from_buffer(
          room.count, UnsafeMutableRawPointer(mutating: room.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .length(let length):
      return unsafe MHD_create_response_from_callback(UInt64(length), 1, { _, _, _, _ in mhdEndWithError }, nil, nil)
    case .file(let range): return unsafe makeFile(range)
    case .stream(let stream): return unsafe stream.makeBody()
    }
  }

  private func makeFile(_ range: Range<Int>) -> OpaquePointer? {
    guard let file = descriptor.take() else { return nil }
    let number = file.release()
    let made = unsafe MHD_create_response_from_fd_at_offset64(UInt64(range.count), number, UInt64(range.lowerBound))
    // Owned by the response from here on, if there is one.
    if unsafe made == nil { _ = FileDescriptor(owning: number) }
    return unsafe made
  }
}
