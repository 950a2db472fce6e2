internal import CLinux
import Glibc

/// A read buffer that all clients of a loop share, so that an idle client needs none.
@safe package final class ReadScratch {
  // Safe: allocated once, and lent only as a span of the bytes that a read has filled.
  fileprivate let room: UnsafeMutableRawBufferPointer

  package init(capacity: Int = 64 * 1024) { unsafe room = .allocate(byteCount: capacity, alignment: 16) }

  deinit { unsafe room.deallocate() }

  /// The first `count` bytes of the last read.
  package func withBytes<R>(_ count: Int, _ body: (Span<UInt8>) -> R) -> R {
    let filled = unsafe UnsafeRawBufferPointer(rebasing: room[..<count])
    return unsafe body(filled.bindMemory(to: UInt8.self).span)
  }
}

/// One end of a Unix stream connection; its calls never wait.
package struct StreamSocket: ~Copyable {
  package let descriptor: FileDescriptor

  package init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Gives the descriptor away: the caller closes it from here on.
  package consuming func release() -> CInt { descriptor.release() }

  /// The result of a read.
  package enum Arrival: Equatable {
    case bytes(Int)
    case nothing
    /// The peer has shut its writing side.
    case end
    case broken
  }

  /// Reads once. The kernel closes descriptors that the peer attached.
  package func read(into scratch: ReadScratch) -> Arrival {
    let count = unsafe linux_receive(descriptor.number, scratch.room.baseAddress, scratch.room.count)
    if count > 0 { return .bytes(count) }
    if count == 0 { return .end }
    return errno == EAGAIN || errno == EINTR ? .nothing : .broken
  }

  /// Makes the kernel take no more from the peer, which learns of it when it writes. Bytes that have
  /// arrived can still be read; they end with `.end`.
  package func endReceiving() { shutdown(descriptor.number, CInt(SHUT_RD)) }

  /// Tells the peer that nothing more will come.
  package func endSending() { shutdown(descriptor.number, CInt(SHUT_WR)) }

  /// Sends part of `bytes`; -1 and `errno` when nothing was sent.
  func send(_ bytes: [UInt8], in range: Range<Int>, with attached: CInt?) -> Int {
    unsafe bytes.withUnsafeBytes { whole in
      let part = unsafe UnsafeRawBufferPointer(rebasing: whole[range])
      return unsafe linux_send(descriptor.number, part.baseAddress, part.count, attached ?? -1)
    }
  }
}

/// The process at the other end of a Unix socket, as the kernel recorded it on connecting.
package struct PeerCredentials: Sendable, Equatable {
  package let pid: Int32
  package let uid: UInt32
  package let gid: UInt32

  package init(pid: Int32, uid: UInt32, gid: UInt32) {
    self.pid = pid
    self.uid = uid
    self.gid = gid
  }

  package init(of socket: borrowing StreamSocket) throws(SystemFailure) {
    var pid: pid_t = 0
    var uid: uid_t = 0
    var gid: gid_t = 0
    guard unsafe linux_peer(socket.descriptor.number, &pid, &uid, &gid) == 0 else {
      throw SystemFailure("getsockopt SO_PEERCRED")
    }
    self.pid = pid
    self.uid = uid
    self.gid = gid
  }
}
