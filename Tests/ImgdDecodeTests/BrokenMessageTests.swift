import Glibc
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecode

/// What a decoder that has been taken over may send.
struct BrokenMessageTests {
  private static let description = DecodeAnswer.description(
    PictureDescription(thumbHash: Array(0..<25), average: [1, 2, 3, 4]))
  private static let whole: [[UInt8]] = [
    DecoderAbilities(layers: .all, reads: [.jpeg], writes: [.png], library: "a library").message,
    description.message(serial: 9),
    DecodeAnswer.failure(DecodeFailure(.damaged, "torn")).message(serial: 9),
  ]

  @Test(arguments: whole)
  func `a message that is cut or has a byte too many is broken`(message: [UInt8]) throws {
    let stage = try ChannelStage()
    #expect(!stage.arrival(of: message).isBroken)
    for cut in 1..<message.count {
      #expect(stage.arrival(of: Array(message[..<cut])).isBroken, "cut at \(cut)")
    }
    #expect(stage.arrival(of: message + [0]).isBroken)
    #expect(
      stage.arrival(of: message + [UInt8](repeating: 0, count: MessageLayout.longest)).isBroken)
  }

  @Test(arguments: whole) func `a byte may be any other`(message: [UInt8]) throws {
    let stage = try ChannelStage()
    for place in message.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = message
        changed[place] = byte
        let isBroken = stage.arrival(of: changed).isBroken
        // The mark, the version and the kind allow no change.
        if place < 8, changed != message { #expect(isBroken) }
      }
    }
  }

  @Test func `numbers have to be within their ranges`() throws {
    let stage = try ChannelStage()
    let content = try memory(Array(1...8))
    let good = DecodeAnswer.picture(
      MadePicture(format: nil, width: 2, height: 1, frames: 1, content: content)
    ).message(serial: 0)
    let number = try #require(content.descriptor)
    #expect(stage.arrival(of: good, with: [number]).picture != nil)
    // The format, then the low and the high bytes of width, height and frames.
    let changes: [(Int, UInt8)] = [
      (17, 200), (17, 12), (18, 1), (18, 0), (21, 0x80), (22, 0), (25, 0x7F), (26, 0), (29, 0x80),
    ]
    for (place, byte) in changes {
      var bad = good
      bad[place] = byte
      #expect(stage.arrival(of: bad, with: [number]).isBroken, "\(byte) at \(place)")
    }
    var file = good
    file[17] = PictureFormat.png.rawValue
    #expect(stage.arrival(of: file, with: [number]).picture?.format == .png)
    // Delays of one frame, of more than there are bytes for, of more than may be; of a file.
    func moving(_ delays: [Int], _ format: PictureFormat? = nil) -> [UInt8] {
      DecodeAnswer.picture(
        MadePicture(
          format: format, width: 1, height: 1, frames: 2, delays: delays, content: content)
      ).message(serial: 0)
    }
    #expect(stage.arrival(of: moving([1, 2]), with: [number]).picture?.delays == [1, 2])
    for delays in [[1], [1, 2, 3], [Int](repeating: 1, count: MadePicture.mostDelays + 1)] {
      #expect(stage.arrival(of: moving(delays), with: [number]).isBroken)
    }
    #expect(stage.arrival(of: moving([1, 2], .png), with: [number]).isBroken)
    let empty = try memory([])
    let none = try #require(empty.descriptor)
    #expect(stage.arrival(of: file, with: [none]).isBroken)
    withExtendedLifetime((content, empty)) {}
  }

  @Test func `only the daemon tells what became of a decoder`() throws {
    let stage = try ChannelStage()
    for cause in DecodeFailure.Cause.allCases {
      let message = DecodeAnswer.failure(DecodeFailure(cause, "")).message(serial: 1)
      let isOwn = [.damaged, .unsupported, .tooLarge, .unmade].contains(cause)
      #expect(stage.arrival(of: message).isBroken != isOwn)
    }
  }

  @Test func `an order is no message to the daemon, nor an answer to a decoder`() throws {
    let stage = try ChannelStage()
    let picture = try memory([1])
    let order = DecodeOrder(
      serial: 1, format: .png, picture: picture, rendition: Rendition(.pixels),
      limits: DecodeLimits())
    let number = try #require(picture.descriptor)
    #expect(stage.arrival(of: order.message, with: [number]).isBroken)
    #expect(
      ImgdTestSupport.send(Self.description.message(serial: 1), with: [], to: stage.daemonEnd) > 0)
    #expect(stage.order() == nil)
    for cut in 1..<order.message.count {
      let sent = send(
        Array(order.message[..<cut]), with: [number], to: stage.daemonEnd)
      #expect(sent == cut)
      #expect(stage.order() == nil, "cut at \(cut)")
    }
    withExtendedLifetime(picture) {}
  }

  @Test func `what was not asked for is no answer`() throws {
    let content = try memory([1])
    func picture(_ format: PictureFormat?) -> DecodeAnswer {
      .picture(MadePicture(format: format, width: 1, height: 1, frames: 1, content: content))
    }
    let table: [(DecodeAnswer, Rendition.Output, Bool)] = [
      (picture(nil), .pixels, true), (picture(.png), .pixels, false),
      (picture(nil), .file(nil, quality: nil), false),
      (picture(.png), .file(nil, quality: nil), true),
      (picture(.png), .file(.png, quality: nil), true),
      (picture(.png), .file(.jpeg, quality: nil), false),
      (picture(.png), .description, false), (Self.description, .description, true),
      (Self.description, .pixels, false), (.failure(DecodeFailure(.damaged, "")), .pixels, true),
    ]
    for (answer, output, isRight) in table {
      #expect(answer.isAnswer(to: Rendition(output)) == isRight)
    }
    for (frames, isRight) in [(2, true), (3, false)] {
      let moving = DecodeAnswer.picture(
        MadePicture(
          format: nil, width: 1, height: 1, frames: frames, delays: [1, 2], content: content))
      #expect(moving.isAnswer(to: Rendition(.pixels)) == isRight)
      #expect(!moving.isAnswer(to: Rendition(.pixels, frames: .first)))
    }
  }
}
