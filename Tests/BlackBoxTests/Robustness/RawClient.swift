import Glibc
import ImgdTestSupport

/// A connection without manners: it reads only when told to, and sends what it is told to.
final class RawClient {
  private(set) var descriptor: CInt

  init(_ daemon: DaemonProcess) throws {
    descriptor = try connect(to: daemon.socket)
  }

  deinit { vanish() }

  /// Ends the connection without reading what is there.
  func vanish() {
    guard descriptor >= 0 else { return }
    // A program that is just being started may have a copy, and closing alone would say nothing.
    shutdown(descriptor, CInt(SHUT_RDWR))
    close(descriptor)
    descriptor = -1
  }

  func halfClose() {
    shutdown(descriptor, CInt(SHUT_WR))
  }

  /// Sends what is taken at once; how much that was, or nil when the connection is gone.
  func push(_ bytes: ArraySlice<UInt8>) -> Int? {
    let count = bytes.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL))
    }
    if count >= 0 { return count }
    return errno == EAGAIN ? 0 : nil
  }

  /// Sends a line, waiting for room.
  func say(_ line: String) {
    var rest = Array((line + "\n").utf8)[...]
    while let count = push(rest), count < rest.count {
      rest = rest.dropFirst(count)
      wait(for: POLLOUT)
    }
  }

  /// Sends the same bytes over and over until the daemon takes no more for a while; how many it
  /// took.
  func pushUntilRefused(_ bytes: [UInt8], atMost limit: Int) -> Int {
    var sent = 0
    while sent < limit {
      guard let count = push(bytes[(sent % bytes.count)...]) else { return sent }
      sent += count
      if count == 0, !wait(for: POLLOUT, milliseconds: 300) { return sent }
    }
    return sent
  }

  /// Reads at most so many bytes, waiting for the first; empty at the end, nil in silence.
  func take(_ most: Int = 65_536, within milliseconds: CInt = Patience.milliseconds) -> [UInt8]? {
    guard wait(for: POLLIN, milliseconds: milliseconds) else { return nil }
    var room = [UInt8](repeating: 0, count: most)
    let count = recv(descriptor, &room, most, 0)
    return Array(room.prefix(max(count, 0)))
  }

  /// Everything up to the end of the connection, read so many bytes at a time.
  func takeAll(_ most: Int = 65_536) -> [UInt8] {
    var all: [UInt8] = []
    while let part = take(most), !part.isEmpty { all += part }
    return all
  }

  /// Sends a line with descriptors attached to it.
  func say(_ line: String, with descriptors: [CInt]) {
    let bytes = Array((line + "\n").utf8)
    let size = MemoryLayout<CInt>.size * descriptors.count
    let header = (MemoryLayout<cmsghdr>.size + 7) & ~7
    var control = [UInt8](repeating: 0, count: header + ((size + 7) & ~7))
    control.withUnsafeMutableBytes { room in
      room.storeBytes(of: header + size, toByteOffset: 0, as: Int.self)
      room.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
      room.storeBytes(of: CInt(0x01), toByteOffset: 12, as: CInt.self)  // SCM_RIGHTS
      for (index, descriptor) in descriptors.enumerated() {
        room.storeBytes(
          of: descriptor, toByteOffset: header + index * MemoryLayout<CInt>.size, as: CInt.self)
      }
    }
    bytes.withUnsafeBytes { text in
      control.withUnsafeMutableBytes { control in
        var part = iovec(
          iov_base: UnsafeMutableRawPointer(mutating: text.baseAddress), iov_len: text.count)
        withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          _ = sendmsg(self.descriptor, &message, CInt(MSG_NOSIGNAL))
        }
      }
    }
  }

  @discardableResult
  private func wait(for events: CInt, milliseconds: CInt = Patience.milliseconds) -> Bool {
    var interest = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return poll(&interest, 1, milliseconds) > 0
  }
}

/// How many lines there are in what was received.
func lineCount(_ bytes: [UInt8]) -> Int {
  bytes.withUnsafeBytes { bytes in
    guard var place = bytes.baseAddress else { return 0 }
    let end = place + bytes.count
    var count = 0
    while place < end, let found = memchr(place, 0x0A, end - place) {
      count += 1
      place = UnsafeRawPointer(found) + 1
    }
    return count
  }
}
