import Glibc
import ImgdPicture
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdDecode

struct DecodeChannelTests {
  private static let boxes: [Rendition.Box?] = [
    nil, .init(width: 100, height: nil), .init(width: nil, height: 1),
    .init(width: 3, height: 4, fit: .cover, crop: .attention, enlarges: true, isLinear: true),
    .init(width: 65_535, height: 65_535, fit: .fill),
    .init(width: 3, height: 4, fit: .cover, crop: .point(x: 0, y: 1_000_000)),
    .init(
      width: 3, height: 4, fit: .pad, area: .init(x: 1, y: 2, width: 3, height: 4, isRelative: false),
      background: .white),
    .init(
      width: nil, height: nil,
      area: .init(x: 0, y: 0, width: 1_000_000, height: 1, isRelative: true), background: .clear),
    .init(width: nil, height: nil, area: .init(around: .attention, width: 3, height: 4)),
    .init(width: 3, height: 4, fit: .coverDown, area: .init(around: .point(x: 1, y: 2), width: 3, height: 4)),
    turned,
  ]
  private static let turned: Rendition.Box = {
    var box = Rendition.Box(width: nil, height: nil, fit: .coverAlike)
    (box.minWidth, box.minHeight, box.scale, box.rotation) = (1, 65_535, 8_000_000, 270)
    box.padding = .init(top: 0, right: 1, bottom: 2, left: 10_000)
    return box
  }()
  private static let outputs: [Rendition.Output] =
    [.pixels, .description, .file(nil, quality: nil), .file(.avif, quality: 1)]
    + PictureFormat.allCases.map { .file($0, quality: 100) }

  @Test(arguments: outputs, boxes)
  func `an order arrives as it was sent`(output: Rendition.Output, box: Rendition.Box?) throws {
    let stage = try ChannelStage()
    let bytes: [UInt8] = [1, 2, 3]
    let order = DecodeOrder(
      serial: .max - 1, format: .webp, picture: try memory(bytes),
      rendition: Rendition(
        output, box: box, frames: .first, layout: output == .pixels ? .premultipliedBGRA : .rgba,
        mostBytes: box == nil ? nil : .max),
      limits: DecodeLimits(pixels: 1 << 40, frames: 7, dimension: 0))
    #expect(stage.send(order))
    let arrived = try #require(stage.order())
    #expect(arrived.serial == order.serial)
    #expect(arrived.format == order.format)
    #expect(arrived.rendition == order.rendition)
    #expect(arrived.limits == order.limits)
    #expect(arrived.picture.bytes == bytes)
  }

  @Test func `abilities arrive as they were sent`() throws {
    let stage = try ChannelStage()
    let sent = DecoderAbilities(
      layers: [.calls, .process], reads: [.jpeg, .jp2], writes: [], library: "libvips 8.14")
    #expect(stage.send(sent))
    guard case .abilities(let arrived) = stage.arrival() else {
      Issue.record("no abilities")
      return
    }
    #expect(arrived == sent)
  }

  @Test func `an answer arrives as it was sent`() throws {
    let stage = try ChannelStage()
    let pixels = MadePicture(
      format: nil, width: 2, height: 1, frames: 3, content: try memory(Array(1...8)))
    #expect(stage.send(.picture(pixels), serial: 5))
    guard case .answer(.picture(let arrived), 5) = stage.arrival() else {
      Issue.record("no picture")
      return
    }
    #expect(arrived.format == nil)
    #expect([arrived.width, arrived.height, arrived.frames] == [2, 1, 3])
    #expect(arrived.content.bytes == Array(1...8))

    let moving = MadePicture(
      format: nil, width: 1, height: 1, frames: 2, delays: [0, 70_000],
      content: try memory(Array(1...8)))
    #expect(stage.send(.picture(moving), serial: 8))
    guard case .answer(.picture(let arrived), 8) = stage.arrival() else {
      Issue.record("no frames")
      return
    }
    #expect(arrived.delays == [0, 70_000] && arrived.content.count == 8)

    let description = PictureDescription(
      thumbHash: Array(0..<25), average: [0, 127, 128, 255])
    #expect(stage.send(.description(description), serial: 6))
    guard case .answer(.description(description), 6) = stage.arrival() else {
      Issue.record("no description")
      return
    }
    let failure = DecodeFailure(.tooLarge, "more than it may be")
    #expect(stage.send(.failure(failure), serial: 7))
    guard case .answer(.failure(failure), 7) = stage.arrival() else {
      Issue.record("no failure")
      return
    }
  }

  @Test func `the daemon never waits, and sees the end`() throws {
    let stage = try ChannelStage()
    #expect(stage.arrival().isNothing)
    stage.closeDecoder()
    #expect(stage.arrival().isEnd)
  }

  @Test func `a reason is short, and can be printed`() throws {
    let stage = try ChannelStage()
    let reason = "bad\n\u{1B}[2J" + String(repeating: "é", count: 200)
    #expect(stage.send(.failure(DecodeFailure(.damaged, reason)), serial: 1))
    guard case .answer(.failure(let arrived), _) = stage.arrival() else {
      Issue.record("no failure")
      return
    }
    #expect(arrived.reason.hasPrefix(#"bad\x0a\x1b[2Jé"#))
    // 200 bytes arrive, of which two are shown as four each.
    #expect(arrived.reason.utf8.count == 206)
  }
}
