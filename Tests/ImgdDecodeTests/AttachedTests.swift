import CLinux
import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecode

struct AttachedTests {
  private let picture: [UInt8]

  init() throws {
    let made = MadePicture(
      format: nil, width: 2, height: 1, frames: 1, content: try memory(Array(1...8)))
    picture = DecodeAnswer.picture(made).message(serial: 0)
  }

  @Test func `a picture comes with one descriptor, all else with none`() throws {
    let stage = try ChannelStage()
    let content = try memory(Array(1...8))
    let number = try #require(content.descriptor)
    #expect(stage.arrival(of: picture, with: [number]).picture != nil)
    #expect(stage.arrival(of: picture).isBroken)
    for count in [2, 8, 9, 50] {
      let numbers = [CInt](repeating: number, count: count)
      #expect(stage.arrival(of: picture, with: numbers).isBroken, "\(count) descriptors")
    }
    let failure = DecodeAnswer.failure(DecodeFailure(.damaged, "")).message(serial: 0)
    #expect(stage.arrival(of: failure, with: [number]).isBroken)
    let abilities = DecoderAbilities(layers: .all, reads: [], writes: [], library: "").message
    #expect(stage.arrival(of: abilities, with: [number]).isBroken)
    withExtendedLifetime(content) {}
  }

  @Test func `what can still change is no picture`() throws {
    let stage = try ChannelStage()
    let loose = linux_memfd("loose")
    #expect(ftruncate(loose, 8) == 0)
    #expect(stage.arrival(of: picture, with: [loose]).isBroken)
    close(loose)
    #expect(stage.arrival(of: picture, with: [stage.daemonEnd]).isBroken)
  }

  @Test func `descriptors of a broken message are closed`() throws {
    let stage = try ChannelStage()
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    #expect(stage.arrival(of: [1], with: [ends[1], ends[1]]).isBroken)
    #expect(stage.arrival(of: picture, with: [ends[1], ends[1]]).isBroken)
    #expect(stage.arrival(of: picture, with: [CInt](repeating: ends[1], count: 20)).isBroken)
    close(ends[1])
    // A pipe ends when its last writer has been closed.
    var byte: UInt8 = 0
    #expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    #expect(read(ends[0], &byte, 1) == 0)
    close(ends[0])
  }
}
