import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What decoders can do here, as `hello` and `stats` tell it.
struct AbilitiesTests {
  @Test(arguments: [false, true])
  func `the formats and the sandbox are told, also to who asks before a decoder has run`(
    isNew: Bool
  ) throws {
    let stage = try CoreStage()
    stage.decoding.isNew = isNew
    stage.decoding.abilities = .success(
      DecoderAbilities(
        layers: .all, reads: [.jpeg, .png], writes: [.png, .gif, .webp, .tiff], library: "planned"))
    try stage.play(
      #"""
      > {"cmd":"stats","id":1}
      > {"cmd":"stats","id":2}
      > {"cmd":"hello","id":3}
      > {"cmd":"ping","id":4}
      < {"id":1,"ok":true,"decode":{"sandbox":"full","decodes":["jpeg","png"],"encodes":["png","gif","webp","tiff"],"library":"planned"}}
      < {"id":2,"ok":true}
      < {"id":3,"ok":true,"decode":{"sandbox":"full","decodes":["jpeg","png"]}}
      < {"id":4,"ok":true}
      """#)
  }

  @Test func `without a decoder both say why, and name no feature that takes one`() throws {
    let stage = try CoreStage()
    stage.decoding.abilities = .failure(DecodeFailure(.unavailable, "not installed"))
    let lines = try stage.play(
      #"""
      > {"cmd":"hello","id":1}
      < {"id":1,"ok":true,"decode":{"sandbox":"off","decodes":[],"encodes":[],"note":"not installed"}}
      > {"cmd":"stats","id":2}
      < {"id":2,"ok":true,"decode":{"sandbox":"off","note":"not installed","workers":0}}
      """#)
    #expect(lines[0]["features"]?.array?.contains("pixels") == false)
  }

  @Test func `a client that leaves before the abilities are known is forgotten`() throws {
    let stage = try CoreStage()
    stage.decoding.isNew = true
    let other = try stage.connect()
    try other.send(#"{"cmd":"hello"}"#)
    other.halfClose()
    #expect(try other.receive()["ok"] == true)
    #expect(try other.isClosedByDaemon())
  }
}
