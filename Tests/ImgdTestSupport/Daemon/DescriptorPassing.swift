internal import CTestLinux
import Glibc

/// One `recvmsg` of at most `limit` bytes with their descriptors, without waiting; empty on an error.
package func receiveWithDescriptors(
  from socket: CInt, limit: Int
) -> (bytes: [UInt8], numbers: [CInt]) {
  receiveMessage(from: socket, limit: limit) ?? ([], [])
}

/// One `recvmsg` of at most `limit` bytes with their descriptors, without waiting; nil on an error.
func receiveMessage(from socket: CInt, limit: Int) -> (bytes: [UInt8], numbers: [CInt])? {
  var bytes = [UInt8](repeating: 0, count: limit)
  // Enough for the 253 descriptors that the kernel passes at once.
  var control = [UInt64](repeating: 0, count: 256)
  var controlled = 0
  let count = bytes.withUnsafeMutableBytes { room in
    withMessage(room, &control, controlBytes: control.count * 8) { message in
      let count = recvmsg(socket, &message, CInt(MSG_DONTWAIT) | CInt(MSG_CMSG_CLOEXEC))
      controlled = Int(message.msg_controllen)
      return count
    }
  }
  guard count >= 0 else { return nil }
  let total = controlled > 16 ? (Int(control[0]) - 16) / 4 : 0
  let numbers = control.withUnsafeBytes { held in
    (0..<total).map { held.loadUnaligned(fromByteOffset: 16 + 4 * $0, as: CInt.self) }
  }
  return (Array(bytes.prefix(count)), numbers)
}

/// One `sendmsg` of `bytes` with the descriptors `numbers` attached.
package func send(_ bytes: [UInt8], with numbers: [CInt], to socket: CInt) -> Int {
  var bytes = bytes
  var control = [UInt64](repeating: 0, count: 32)
  let length = 16 + 4 * numbers.count
  control.withUnsafeMutableBytes { held in
    held.storeBytes(of: length, toByteOffset: 0, as: Int.self)
    held.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: CInt.self)
    held.storeBytes(of: CInt(1), toByteOffset: 12, as: CInt.self)  // SCM_RIGHTS
    for (index, number) in numbers.enumerated() {
      held.storeBytes(of: number, toByteOffset: 16 + 4 * index, as: CInt.self)
    }
  }
  return bytes.withUnsafeMutableBytes { room in
    withMessage(room, &control, controlBytes: length) { sendmsg(socket, &$0, 0) }
  }
}

private func withMessage(
  _ room: UnsafeMutableRawBufferPointer, _ control: inout [UInt64], controlBytes: Int,
  _ body: (inout msghdr) -> Int
) -> Int {
  var piece = iovec(iov_base: room.baseAddress, iov_len: room.count)
  return control.withUnsafeMutableBytes { held in
    withUnsafeMutablePointer(to: &piece) { pieces in
      var message = msghdr()
      message.msg_iov = pieces
      message.msg_iovlen = 1
      message.msg_control = held.baseAddress
      message.msg_controllen = controlBytes
      return body(&message)
    }
  }
}

/// A memfd with these bytes, whose offset stands at its end.
package func handedMemory(_ bytes: [UInt8]) throws -> CInt {
  let number = test_memfd()
  guard number >= 0, bytes.withUnsafeBytes({ write(number, $0.baseAddress, $0.count) }) == bytes.count else {
    throw TestFailure("memfd: errno \(errno)")
  }
  return number
}
