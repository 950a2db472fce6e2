import Glibc
import ImgdPicture
import ImgdSystem
import ImgdTestSupport

@testable import ImgdDecode

/// Both ends of a channel, and a way past its checks.
final class ChannelStage {
  private var daemon: DecodeChannel?
  private var decoder: DecodeChannel?
  /// The descriptors of the ends.
  let daemonEnd: CInt
  let decoderEnd: CInt

  init() throws {
    var ends: [CInt] = []
    try DecodeChannel.pair { (daemon, decoder) throws(SystemFailure) in
      ends = [daemon.descriptor.number, decoder.descriptor.number].map { dup($0) }
    }
    (daemonEnd, decoderEnd) = (ends[0], ends[1])
    daemon = DecodeChannel(FileDescriptor(owning: daemonEnd))
    decoder = DecodeChannel(FileDescriptor(owning: decoderEnd))
  }

  func closeDecoder() { decoder = nil }

  func send(_ order: DecodeOrder) -> Bool { daemon?.send(order) ?? false }
  func send(_ abilities: DecoderAbilities) -> Bool { decoder?.send(abilities) ?? false }
  func send(_ answer: DecodeAnswer, serial: UInt64) -> Bool {
    decoder?.send(answer, serial: serial) ?? false
  }
  func arrival() -> DecodeChannel.Arrival { daemon?.receive() ?? .end }
  func order() -> DecodeOrder? { decoder?.receiveOrder() }

  /// What the daemon makes of any bytes with any descriptors.
  func arrival(of bytes: [UInt8], with numbers: [CInt] = []) -> DecodeChannel.Arrival {
    guard ImgdTestSupport.send(bytes, with: numbers, to: decoderEnd) == bytes.count else {
      return .nothing
    }
    return arrival()
  }
}

/// Bytes in a sealed memfd.
func memory(_ bytes: [UInt8]) throws -> Payload {
  try Payload(bytes).shareable()
}

extension DecodeChannel.Arrival {
  var isBroken: Bool {
    if case .broken = self { true } else { false }
  }

  var isEnd: Bool {
    if case .end = self { true } else { false }
  }

  var isNothing: Bool {
    if case .nothing = self { true } else { false }
  }

  var picture: MadePicture? {
    if case .answer(.picture(let made), _) = self { made } else { nil }
  }
}
