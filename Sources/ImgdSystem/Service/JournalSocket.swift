// The journal's own way in: a datagram an entry, with fields of the sender's choice.
//
// A field is `NAME=value` and a newline; where the value has newlines of its own, the name, a newline,
// the length in eight bytes and the value. So no value can pass for another field. An entry that is
// too long for a datagram goes as a sealed memfd beside an empty one.

internal import CLinux
import Glibc

/// How urgent an entry is, by the numbers of syslog.
package enum JournalPriority: Int, Sendable {
  case error = 3
  case warning = 4
  case notice = 5
}

/// Which file the journal has given a service as its standard output or error.
package struct JournalStream: Sendable, Equatable {
  package let device: UInt
  package let inode: UInt

  /// Reads what the manager writes: `device:inode`, in decimal.
  package init?(text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let device = UInt(parts[0]), let inode = UInt(parts[1]) else {
      return nil
    }
    self.device = device
    self.inode = inode
  }

  /// The file that a descriptor is.
  package init?(of descriptor: CInt) {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
  }
}

/// A socket of one's own on which the journal takes entries.
package final class JournalSocket: Sendable {
  private let path: String
  private let socket: FileDescriptor

  /// Opens the way to the journal; nil unless it is the journal that reads standard error.
  package init?(
    stream: JournalStream?, path: String = "/run/systemd/journal/socket",
    standardError: CInt = STDERR_FILENO
  ) {
    guard let stream, stream == JournalStream(of: standardError) else { return nil }
    let number = linux_datagram_socket()
    guard number >= 0 else { return nil }
    self.path = path
    socket = FileDescriptor(owning: number)
  }

  /// Leaves an entry, without waiting; false when the journal does not take it.
  ///
  /// Names are of capitals, digits and underscores; values are whatever they are.
  package func send(_ fields: [(name: String, value: String)]) -> Bool {
    var entry: [UInt8] = []
    for field in fields { Self.append(field.name, Array(field.value.utf8), to: &entry) }
    if send(entry, with: []) { return true }
    guard errno == EMSGSIZE, var memory = try? MemoryWriter(), (try? memory.append(entry)) != nil,
      let whole = try? memory.seal().reopen()
    else { return false }
    return send([], with: [whole.number])
  }

  private static func append(_ name: String, _ value: [UInt8], to entry: inout [UInt8]) {
    entry.append(contentsOf: name.utf8)
    if value.contains(UInt8(ascii: "\n")) {
      entry.append(UInt8(ascii: "\n"))
      entry.append(contentsOf: (0..<8).map { UInt8(truncatingIfNeeded: value.count >> ($0 * 8)) })
    } else {
      entry.append(UInt8(ascii: "="))
    }
    entry.append(contentsOf: value)
    entry.append(UInt8(ascii: "\n"))
  }

  private func send(_ bytes: [UInt8], with descriptors: [CInt]) -> Bool {
    unsafe linux_send_to(
      socket.number, path, bytes, bytes.count, descriptors, descriptors.count) == bytes.count
  }
}
