internal import CLinux
import Glibc

/// A socket whose queue of clients can be emptied even when the process has no descriptor left.
package final class ListeningSocket {
  private let descriptor: FileDescriptor
  private var reserve: FileDescriptor?

  /// Takes over a socket that is listening and non-blocking.
  init(_ descriptor: consuming FileDescriptor) throws(SystemFailure) {
    self.descriptor = descriptor
    reserve = try FileDescriptor(opening: "/dev/null", O_RDONLY)
  }

  convenience init(adopting number: CInt) throws(SystemFailure) {
    let descriptor = FileDescriptor(owning: number)
    guard linux_set_nonblocking(number) == 0 else { throw SystemFailure("fcntl", "descriptor \(number)") }
    try self.init(descriptor)
  }

  /// The descriptor, for a loop to watch.
  package var number: CInt { descriptor.number }

  /// Stops listening; clients in the queue can still be accepted.
  func stopListening() { shutdown(descriptor.number, CInt(SHUT_RDWR)) }

  /// The result of an attempt to accept.
  package enum Arrival: ~Copyable {
    case client(StreamSocket)
    /// Accepted with the reserved descriptor: to be told so and closed.
    case beyondDescriptors(StreamSocket)
    case nobody
    /// Short of memory, or of descriptors even for the reserve: try again later.
    case exhausted
  }

  /// Takes the next client out of the queue, without waiting.
  package func accept() -> Arrival {
    restoreReserve()
    while true {
      let number = linux_accept(descriptor.number)
      if number >= 0 { return .client(StreamSocket(FileDescriptor(owning: number))) }
      switch errno {
      case ECONNABORTED, EINTR: continue  // this client is gone, others may wait
      case EAGAIN, EINVAL: return .nobody  // EINVAL after `close`
      case EMFILE, ENFILE: return acceptWithReserve()
      default: return .exhausted
      }
    }
  }

  /// Without this a connection that cannot be accepted would stay ready, and the loop would spin.
  private func acceptWithReserve() -> Arrival {
    guard reserve.take() != nil else { return .exhausted }
    let number = linux_accept(descriptor.number)
    guard number >= 0 else {
      let isAlone = errno == EAGAIN
      restoreReserve()
      return isAlone ? .nobody : .exhausted
    }
    return .beyondDescriptors(StreamSocket(FileDescriptor(owning: number)))
  }

  /// Reserves a descriptor again after a client beyond the limit was closed; on failure `accept` tries again.
  package func restoreReserve() {
    guard reserve == nil else { return }
    reserve = try? FileDescriptor(opening: "/dev/null", O_RDONLY)
  }
}

/// A TCP socket, which other machines can reach only where that is wanted.
package final class PortListener {
  package let socket: ListeningSocket
  private let isInherited: Bool
  package let port: Int
  /// Whether other machines can reach it.
  package let isExposed: Bool

  /// Binds an address, and listens; port 0 for a free one.
  package init(address: String, port: Int, mayBeExposed: Bool) throws(ListenProblem) {
    let isLoopback = unsafe linux_is_loopback(address) == 1
    guard isLoopback || mayBeExposed else { throw .notLoopback(address: address) }
    let number = unsafe linux_listen_port(address, CInt(clamping: port))
    do throws(SystemFailure) {
      socket = try ListeningSocket(FileDescriptor(returned: number, by: "listen", "\(address) port \(port)"))
    } catch { throw .system(error) }
    self.port = Self.facts(of: number)?.port ?? port
    isExposed = !isLoopback
    isInherited = false
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt, mayBeExposed: Bool) throws(ListenProblem) {
    guard let facts = Self.facts(of: number), facts.isLoopback || mayBeExposed else {
      throw .notLocal(descriptor: number)
    }
    do throws(SystemFailure) { socket = try ListeningSocket(adopting: number) } catch { throw .system(error) }
    port = facts.port
    isExposed = !facts.isLoopback
    isInherited = true
  }

  private static func facts(of number: CInt) -> (port: Int, isLoopback: Bool)? {
    var isLoopback: CInt = 0
    let port = unsafe linux_listening_port(number, &isLoopback)
    return port < 0 ? nil : (Int(port), isLoopback == 1)
  }

  /// Stops listening; an inherited socket stays with its queue for the next process.
  package func close() { if !isInherited { socket.stopListening() } }
}
