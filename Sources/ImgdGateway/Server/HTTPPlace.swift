internal import CMicrohttpd
import Glibc
import ImgdSystem

/// A listener's socket, for the servers that accept its clients, each of which may be on another thread.
///
/// It is the turn of the one with the fewest connections. If all accepted, the first to wake up would have most of
/// them, and the others would wake up in vain.
package final class HTTPPlace: Sendable {
  private struct Seat: Sendable {
    /// The library, as its own descriptor for epoll names it, and that descriptor.
    let daemon: UInt64
    let epoll: CInt
    var connections = 0
  }

  private struct Seats: Sendable {
    var all: [Int: Seat] = [:]
    var last = 0
    var turn: Int?
  }

  /// From where its clients may come: those from the network are looked at one by one.
  package let peers: HTTPPeer.Kind
  /// Of its own, since the library must be told to leave it alone before it is closed.
  private let socket: FileDescriptor
  private let seats = Locked(Seats())

  /// A place for as long as it has servers, whatever becomes of the listener.
  init(at listening: CInt, peers: HTTPPeer.Kind) throws(SystemFailure) {
    let number = fcntl(listening, F_DUPFD_CLOEXEC, 0)
    guard number >= 0 else { throw SystemFailure("fcntl", "descriptor \(listening)") }
    socket = FileDescriptor(owning: number)
    self.peers = peers
  }

  var number: CInt { socket.number }

  /// Adds a server that has begun to listen; returns the number of its seat.
  func join(_ daemon: UInt64, epoll: CInt) -> Int {
    seats.withLock { seats in
      seats.last += 1
      seats.all[seats.last] = Seat(daemon: daemon, epoll: epoll)
      if seats.turn != nil { http_set_turn(daemon, epoll, number, 0) }
      pass(&seats)
      return seats.last
    }
  }

  /// Notes that a server has so many connections more.
  func countConnections(_ more: Int, at seat: Int) {
    seats.withLock { seats in
      seats.all[seat]?.connections += more
      pass(&seats)
    }
  }

  /// Removes a server that listens no more.
  func leave(_ seat: Int) {
    seats.withLock { seats in
      seats.all[seat] = nil
      pass(&seats)
    }
  }

  private func pass(_ seats: inout Seats) {
    let next = seats.all.min { ($0.value.connections, $0.key) < ($1.value.connections, $1.key) }
    guard next?.key != seats.turn else { return }
    if let old = seats.turn.flatMap({ seats.all[$0] }) { http_set_turn(old.daemon, old.epoll, number, 0) }
    if let new = next?.value { http_set_turn(new.daemon, new.epoll, number, 1) }
    seats.turn = next?.key
  }
}
