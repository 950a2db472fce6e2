import Glibc

/// A datagram socket that stands in for the service manager or the journal.
package final class DatagramPeer: @unchecked Sendable {
  // Unchecked: used by one thread at a time.
  package struct Message {
    package let bytes: [UInt8]
    package let descriptors: [CInt]

    package var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The lines, one assignment each.
    package var lines: [String] { text.split(separator: "\n").map(String.init) }
  }

  package let number: CInt
  private let name: String
  private var held: [CInt] = []

  /// Listens at a path, or at an abstract name with a leading @.
  package init(_ name: String) throws {
    self.name = name
    number = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard UnixName.withAddress(of: name, { bind(number, $0, $1) }) == 0 else {
      throw TestFailure("\(name): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    letGo()
    close(number)
  }

  /// Fills the queue, as a manager or a journal does that is too busy to read.
  package func fillQueue() throws {
    // A sender has a limit of its own: the queue is full when a new one cannot send anything.
    while true {
      let sender = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      defer { close(sender) }
      guard UnixName.withAddress(of: name, { connect(sender, $0, $1) }) == 0 else {
        throw TestFailure("\(name): \(String(cString: strerror(errno)))")
      }
      var sent = 0
      while send(sender, "busy", 4, CInt(MSG_DONTWAIT)) == 4 { sent += 1 }
      if sent == 0 { return }
    }
  }

  /// Closes the received descriptors.
  package func letGo() {
    for descriptor in held { close(descriptor) }
    held = []
  }

  /// The next datagram; nil when none comes in time.
  package func receive(within milliseconds: CInt = Patience.milliseconds) -> Message? {
    var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, milliseconds) > 0 else { return nil }
    return take()
  }

  /// The next datagram with a given line, skipping others; nil when none comes in time.
  package func receive(with line: String) -> Message? {
    while let message = receive() {
      if message.lines.contains(line) { return message }
    }
    return nil
  }

  /// The datagrams that have arrived and were not received yet.
  package func drain() -> [Message] {
    var messages: [Message] = []
    while let message = receive(within: 0) { messages.append(message) }
    return messages
  }

  private func take() -> Message? {
    guard let (bytes, descriptors) = receiveMessage(from: number, limit: 1 << 18) else {
      return nil
    }
    held += descriptors
    return Message(bytes: bytes, descriptors: descriptors)
  }
}

/// Names of Unix sockets in the kernel's form.
package enum UnixName {
  /// A name with a leading @ is abstract, not in the file system.
  package static func withAddress(
    of name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
  ) -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
    // A path of the maximum length has no terminating zero.
    bytes = Array(bytes.prefix(MemoryLayout.size(ofValue: address.sun_path)))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(2 + bytes.count))
      }
    }
  }

  /// A stream socket that listens at a path, as a socket unit would make it.
  package static func listening(at path: String) throws -> CInt {
    let number = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard withAddress(of: path, { bind(number, $0, $1) }) == 0, listen(number, 64) == 0 else {
      throw TestFailure("\(path): \(String(cString: strerror(errno)))")
    }
    return number
  }
}
