internal import ImgdSystem
import Synchronization

/// What a transfer waits for.
package enum TransferPhase: UInt8, Sendable, CaseIterable, Comparable {
  /// The addresses of the host, or a turn to look them up.
  case dns
  /// A connection, including one through a proxy.
  case connect
  case tls
  /// The head of the answer: the request has been sent.
  case firstByte
  /// The rest of the body.
  case body

  package static func < (left: TransferPhase, right: TransferPhase) -> Bool { left.rawValue < right.rawValue }

  /// The phase in the words of the protocol.
  package var name: String {
    switch self {
    case .dns: "dns"
    case .connect: "connect"
    case .tls: "tls"
    case .firstByte: "first_byte"
    case .body: "body"
    }
  }

  /// The sentence for people about a transfer that waited for too long.
  package func complaint(about host: String, after limit: Duration) -> String {
    let missing =
      switch self {
      case .dns: "no address of \(host)"
      case .connect: "no connection to \(host)"
      case .tls: "no TLS handshake with \(host)"
      case .firstByte: "no answer from \(host)"
      case .body: "no whole picture from \(host)"
      }
    return "\(missing) within \(DurationText.text(limit))"
  }
}

/// The present phase of one transfer, which the engine writes and any thread may read.
///
/// After a redirect, and in another attempt, phases begin again. A pause between two attempts counts
/// towards the phase in which the first one failed.
package final class PhaseCell: Sendable {
  private static let none = UInt8.max
  private let value = Atomic(PhaseCell.none)

  package init() {}

  /// Nil until the engine has taken up the order.
  package var known: TransferPhase? { TransferPhase(rawValue: value.load(ordering: .relaxed)) }

  /// The phase of a transfer that the engine has taken up.
  var phase: TransferPhase { known ?? .connect }

  /// Called by the engine alone, from the beginning of the transfer on.
  package func enter(_ phase: TransferPhase) { value.store(phase.rawValue, ordering: .relaxed) }
}
