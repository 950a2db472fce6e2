internal import CMicrohttpd
import Glibc

/// A body that is written while it is read.
package final class HTTPStream {
  /// A reader that lets more than this wait is cut off.
  static let mostUnsent = 256 * 1024
  /// In bytes, for readers of HTTP/1.0, whose body has no parts.
  private static let part = 4_096

  /// Called once, when its reader has gone or has received everything.
  package var onEnd: () -> Void = {}

  private enum State { case open, closed, broken }
  private var state = State.open
  private var isEnded = false
  private(set) var waiting: [UInt8] = []
  private var taken = 0
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
    let onEnd = onEnd
    self.onEnd = {}
    onEnd()
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
