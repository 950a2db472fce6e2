import Glibc
import ImgdSystem

/// A line between two networks on which each packet takes its time, and some are lost.
///
/// The test's own process carries the packets: a kernel need not have what `tc` would ask of it.
package final class PoorLine: Sendable {
  /// The address of the first network on all of its lines.
  package static let near = "10.0.0.1"

  /// Closed at the end, which its other side is told.
  private let end: CInt
  private let isCut = Shared(false)

  /// `number` tells apart the lines of one network. The same seed loses the same packets of a conversation.
  package init(
    number: Int, from one: PrivateNetwork, to other: PrivateNetwork, delay: Duration,
    lossPercent: Int, seed: UInt64
  ) throws {
    let (name, far) = ("line\(number)", "10.0.\(number).2")
    let devices = [
      try one.tunnel(name, from: Self.near, to: far), try other.tunnel(name, from: far, to: Self.near),
    ]
    var ends: [CInt] = [0, 0]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw TestFailure("socketpair: errno \(errno)")
    }
    end = ends[1]
    let carrier = Carrier(
      devices: devices, end: ends[0], delay: delay, lossPercent: lossPercent,
      noise: Noise(seed: seed), isCut: isCut)
    _ = try Thread(name: "line") {
      var carrier = carrier
      carrier.carry()
    }
  }

  deinit { close(end) }

  /// Loses every packet, of which neither end is told.
  package func cut() { isCut.with { $0 = true } }

  /// Carries packets again.
  package func mend() { isCut.with { $0 = false } }
}

private struct Carrier: Sendable {
  private struct Packet {
    let due: Instant
    let device: CInt
    let bytes: [UInt8]
  }

  let devices: [CInt]
  let end: CInt
  let delay: Duration
  let lossPercent: Int
  var noise: Noise
  let isCut: Shared<Bool>
  private var waiting: [Packet] = []

  init(
    devices: [CInt], end: CInt, delay: Duration, lossPercent: Int, noise: Noise, isCut: Shared<Bool>
  ) {
    self.devices = devices
    self.end = end
    self.delay = delay
    self.lossPercent = lossPercent
    self.noise = noise
    self.isCut = isCut
  }

  /// Carries packets until the other side of `end` is closed.
  mutating func carry() {
    var room = [UInt8](repeating: 0, count: 65_536)
    var polled = (devices + [end]).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    repeat {
      for (from, to) in [(0, 1), (1, 0)] {
        while case let count = read(devices[from], &room, room.count), count > 0 {
          let isLost = Int.random(in: 0..<100, using: &noise) < lossPercent
          guard !isLost, !isCut.with({ $0 }) else { continue }
          waiting.append(
            Packet(due: .current + delay, device: devices[to], bytes: Array(room[..<count])))
        }
      }
      deliver()
      poll(&polled, UInt(polled.count), waiting.isEmpty ? -1 : 1)
    } while polled[2].revents == 0
    for device in devices + [end] { close(device) }
  }

  private mutating func deliver() {
    while let packet = waiting.first, packet.due <= .current {
      _ = write(packet.device, packet.bytes, packet.bytes.count)
      waiting.removeFirst()
    }
  }
}
