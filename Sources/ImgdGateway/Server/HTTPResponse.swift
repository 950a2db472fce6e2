internal import CMicrohttpd
import Glibc
package import ImgdSystem

// Safe: the library's form is private, and kept for as long as this object.
/// An HTTP answer as it is sent: made once, and given to as many requests as want the same.
@safe package final class HTTPResponse {
  /// What follows the header fields.
  package enum Body {
    case bytes([UInt8])
    /// Nothing, but the length that the body would have: for a 304.
    case length(Int)
    /// A part of the file: sent by the kernel without a copy, or if it is small, together with the header fields.
    case file(Range<Int>)
    /// Text that comes bit by bit, until the stream is closed; for one request.
    case stream(HTTPStream)
  }

  /// Header fields, in the order in which they are sent.
  package typealias Fields = [(name: String, value: String)]

  package let status: Int
  /// Empty when the library has its own form of them.
  package private(set) var fields: Fields
  package let body: Body
  private var descriptor: FileDescriptor?
  /// The library's form of the answer, made when it is first sent.
  private var native: OpaquePointer?
  /// Whether the library sends the body by a call of its own, after the header fields.
  private(set) var sendsFile = false
  /// Whether many requests are given it.
  package var isSentAgain = false
  /// What is sent again and ends so early in a sealed memfd is mapped: to copy it takes less time than the three calls that a file takes.
  private static let mostMapped = 64 * 1024

  /// The server itself sets the length of the body. A field that HTTP does not permit is left out.
  package init(status: Int, fields: Fields, body: Body, of file: consuming FileDescriptor? = nil) {
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

  /// Gives a field another value, for those to whom this is sent from now on.
  package func replace(_ name: String, by value: String) {
    for index in fields.indices where fields[index].name == name { fields[index].value = value }
    guard let native = unsafe native, let former = unsafe MHD_get_response_header(native, name) else { return }
    _ = unsafe MHD_del_response_header(native, name, former)
    _ = unsafe MHD_add_response_header(native, name, value)
  }

  /// Makes the library's form of it, if there is none yet; false if memory is short.
  func prepare() -> Bool {
    if unsafe native == nil { unsafe native = make() }
    return unsafe native != nil
  }

  /// Begins to send this as the answer of a connection, and the last one if so; false if memory is short.
  func queue(on connection: OpaquePointer, isLast: Bool = false) -> Bool {
    guard prepare(), let native = unsafe native else { return false }
    if isLast { _ = unsafe MHD_add_response_header(native, "Connection", "close") }
    return unsafe MHD_queue_response(connection, UInt32(clamping: status), native) == .YES
  }

  private func make() -> OpaquePointer? {
    guard let made = unsafe makeBody() else { return nil }
    for field in fields {
      // The library refuses fields that would end the line.
      _ = unsafe MHD_add_response_header(made, field.name, field.value)
    }
    fields = []
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
    case .file(let range):
      guard let file = descriptor.take() else { return nil }
      if isSentAgain, range.upperBound <= Self.mostMapped, file.isSealed { return unsafe Self.makeMapped(file, range) }
      sendsFile = true
      let number = file.release()
      let made = unsafe MHD_create_response_from_fd_at_offset64(UInt64(range.count), number, UInt64(range.lowerBound))
      // Owned by the response from here on, if there is one.
      if unsafe made == nil { _ = FileDescriptor(owning: number) }
      return unsafe made
    case .stream(let stream): return unsafe stream.makeBody()
    }
  }

  private static func makeMapped(_ file: consuming FileDescriptor, _ range: Range<Int>) -> OpaquePointer? {
    guard let memory = try? MappedBody(file, count: range.upperBound) else { return nil }
    // The library only reads it, and gives it back when the last answer with it is sent.
    let start = unsafe UnsafeMutableRawPointer(mutating: memory.bytes.baseAddress.map { unsafe $0 + range.lowerBound })
    let context = unsafe Unmanaged.passRetained(memory)
    let made = unsafe MHD_create_response_from_buffer_with_free_callback_cls(
      range.count, start, releaseMemory, context.toOpaque())
    if unsafe made == nil { unsafe context.release() }
    return unsafe made
  }
}

/// The bytes of a body, as long as the library has them.
private final class MappedBody {
  private let memory: ReceivedMemory

  init(_ file: consuming FileDescriptor, count: Int) throws(SystemFailure) {
    memory = try ReceivedMemory(file, count: count)
  }

  var bytes: UnsafeRawBufferPointer { unsafe memory.bytes }
}

private func releaseMemory(_ context: UnsafeMutableRawPointer?) {
  guard let context = unsafe context else { return }
  unsafe Unmanaged<MappedBody>.fromOpaque(context).release()
}

/// A body that is written while it is read.
package final class HTTPStream {
  /// A reader that lets more than this wait is cut off.
  static let mostUnsent = 256 * 1024
  /// In bytes, for readers of HTTP/1.0, whose body has no parts.
  private static let part = 4_096

  /// Called once, when its reader has gone or has received everything.
  package var onEnd: (() -> Void)?

  private enum State { case open, closed, broken }
  private var state = State.open
  private var isEnded = false
  private(set) var waiting: [UInt8] = []
  private var taken = 0
  /// All bytes that its reader has taken.
  private(set) var sent = 0
  private weak var request: HTTPRequest?

  package init() {}

  /// The bytes that its reader has not taken yet.
  package var unsent: Int { waiting.count - taken }

  /// Adds bytes for the reader.
  package func write(_ bytes: [UInt8]) {
    guard state == .open, !isEnded else { return }
    waiting.append(contentsOf: bytes)
    if unsent > Self.mostUnsent { cutOff() } else { request?.resumeStream() }
  }

  /// Ends the body, after what is written.
  package func close() {
    guard state == .open else { return }
    state = .closed
    request?.resumeStream()
  }

  /// Gives the reader up, and drops what it has not taken.
  func cutOff() {
    state = .broken
    waiting = []
    taken = 0
    request?.cutOff()
  }

  func begin(for request: HTTPRequest) { self.request = request }

  /// Called when the request is over, for whatever reason.
  func finish() {
    guard !isEnded else { return }
    isEnded = true
    request = nil
    waiting = []
    taken = 0
    onEnd.take()?()
  }

  /// The library's form of the body, which keeps this object.
  func makeBody() -> OpaquePointer? {
    let context = unsafe Unmanaged.passRetained(self)
    let made = unsafe MHD_create_response_from_callback(.max, Self.part, readStream, context.toOpaque(), releaseStream)
    if unsafe made == nil { unsafe context.release() }
    return unsafe made
  }

  /// Called by the library when the reader has room.
  fileprivate func moveBytes(into room: UnsafeMutableRawBufferPointer) -> Int {
    if state == .broken { return mhdEndWithError }
    guard unsent > 0 else { return takeNothing() }
    let count = min(unsent, room.count)
    unsafe waiting.withUnsafeBytes { bytes in
      // Within both buffers: `count` is the smaller of the two lengths.
      unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
    }
    taken += count
    sent += count
    recycle()
    return count
  }

  private func takeNothing() -> Int {
    guard state == .open, let request else { return mhdEndOfStream }
    request.suspend()
    return 0
  }

  /// Removes the bytes that were taken, so that they do not accumulate before the others.
  private func recycle() {
    guard taken >= unsent else { return }
    waiting.removeFirst(taken)
    taken = 0
  }
}

// MHD_CONTENT_READER_END_OF_STREAM and MHD_CONTENT_READER_END_WITH_ERROR: macros with casts.
private let mhdEndOfStream = -1
let mhdEndWithError = -2

/// The context is the stream, which the response keeps.
private func readStream(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ room: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  guard let context = unsafe context else { return mhdEndWithError }
  let stream = unsafe Unmanaged<HTTPStream>.fromOpaque(context).takeUnretainedValue()
  return unsafe stream.moveBytes(into: UnsafeMutableRawBufferPointer(start: room, count: capacity))
}

private func releaseStream(_ context: UnsafeMutableRawPointer?) {
  guard let context = unsafe context else { return }
  unsafe Unmanaged<HTTPStream>.fromOpaque(context).release()
}
