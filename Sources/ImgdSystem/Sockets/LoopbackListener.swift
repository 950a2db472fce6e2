internal import CLinux
import Glibc

/// A TCP socket that only programs on this machine can reach.
package final class LoopbackListener {
  package let socket: ListeningSocket
  private let isInherited: Bool
  package let port: Int

  /// Binds an address of 127.0.0.0/8 or `::1`, and listens; port 0 for a free one.
  package init(address: String, port: Int) throws(ListenProblem) {
    // The address is a C string for the length of the calls.
    guard unsafe linux_is_loopback(address) == 1 else { throw .notLoopback(address: address) }
    let number = unsafe linux_listen_loopback(address, CInt(clamping: port))
    guard number >= 0 else { throw .system(SystemFailure("listen", "\(address) port \(port)")) }
    do throws(SystemFailure) { socket = try ListeningSocket(FileDescriptor(owning: number)) } catch {
      throw .system(error)
    }
    self.port = Int(linux_listening_port(number))
    isInherited = false
  }

  /// Takes over a socket that the service manager has bound and listens on.
  package init(adopting number: CInt) throws(ListenProblem) {
    let port = linux_listening_port(number)
    guard port >= 0 else { throw .notLocal(descriptor: number) }
    do throws(SystemFailure) { socket = try ListeningSocket(adopting: number) } catch { throw .system(error) }
    self.port = Int(port)
    isInherited = true
  }

  /// Stops listening; an inherited socket stays with its queue for the next process.
  package func close() { if !isInherited { socket.stopListening() } }
}
