import ImgdDecode
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Other forms of pictures: made once, kept with their originals, and gone with them.
struct RenditionTests {
  private let thumbnail = #""resize":{"width":20,"height":10}"#

  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    stage.origin.plan("/a.png", .picture(TestPicture.png(width: 100, height: 50)))
    return stage
  }

  private func ask(_ fields: String, path: String = "/a.png", of stage: CoreStage) throws
    -> JSONValue
  {
    try stage.client.ask(
      #"{"cmd":"fetch","url":"\#(stage.origin.url(path))",\#(fields)}"#)
  }

  @Test func `pixels are made once, shared by a sealed memfd, and kept in memory`() throws {
    let stage = try stage()
    for source in ["network", "memory", "memory"] {
      let line = try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"pixels"}
        < {"ok":true,"source":"\#(source)","format":"png","width":8,"height":4,"frames":1,"bytes":128,"fds":[{"kind":"pixels","format":"rgba8","width":8,"height":4,"stride":32,"bytes":128}]}
        """#)[0]
      #expect(line["path"] == nil)
      let descriptor = try #require(stage.client.takeDescriptor())
      #expect(contents(of: descriptor) == [UInt8](repeating: 7, count: 128))
    }
    #expect(stage.decoding.orders.count == 1)
    #expect(stage.origin.count("/a.png") == 1)
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(stage.files.count == 1)
  }

  @Test func `the layout of pixels is named, and each is made once`() throws {
    let stage = try stage()
    for layout in ["rgba8", "bgra8-premultiplied", "rgba8", "bgra8-premultiplied"] {
      for _ in 0..<2 {
        try stage.play(
          #"""
          > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"pixels","layout":"\#(layout)"}
          < {"ok":true,"fds":[{"kind":"pixels","format":"\#(layout)","width":8,"height":4,"stride":32,"frames":1,"bytes":128}]}
          """#)
        _ = stage.client.takeDescriptor()
      }
    }
    #expect(stage.decoding.orders.count == 2)
    // It means nothing for a file.
    let line = try ask(#""layout":"bgra8-premultiplied","deliver":"none""#, of: stage)
    #expect(line["format"]?.string == "png" && stage.decoding.orders.count == 2)
  }

  @Test func `all frames of an animation are one descriptor with their delays`() throws {
    let stage = try stage()
    stage.origin.plan("/m.gif", .picture(TestPicture.gif(width: 8, height: 4, frames: 3)))
    for source in ["network", "memory", "memory", "memory"] {
      let line = try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/m.gif","deliver":"pixels","frames":"all"}
        < {"ok":true,"source":"\#(source)","format":"gif","width":8,"height":4,"frames":3,"bytes":384,"fds":[{"kind":"pixels","format":"rgba8","width":8,"height":4,"stride":32,"frames":3,"delays_ms":[40,50,60000],"bytes":384}]}
        """#)[0]
      #expect(line["frames_of"] == nil)
      let descriptor = try #require(stage.client.takeDescriptor())
      #expect(contents(of: descriptor).count == 384)
    }
    #expect(stage.decoding.orders.count == 1)
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/m.gif","deliver":"pixels"}
      < {"ok":true,"frames":3,"bytes":128,"fds":[{"frames":1,"bytes":128}]}
      """#)
    _ = stage.client.takeDescriptor()
    #expect(stage.decoding.orders.count == 2)
    // Of these only the first can be decoded.
    stage.origin.plan("/m.png", .picture(TestPicture.apng(frames: 3)))
    let refused = try ask(#""deliver":"pixels","frames":"all""#, path: "/m.png", of: stage)
    #expect(refused["error"]?["code"]?.string == "unsupported_format")
  }

  @Test func `all who ask at once get what one decoder has made`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    let other = try stage.connect()
    for number in 1...3 {
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    }
    try stage.begin(#"{"cmd":"fetch","id":4,"url":"ORIGIN/a.png","deliver":"pixels"}"#, on: other)
    stage.settle()
    stage.decoding.letThrough()
    for number in 1...3 {
      let line = try stage.client.receive()
      #expect(line["ok"] == true && line["id"]?.integer == Int64(number))
    }
    #expect(try other.receive()["ok"] == true)
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `many who wait for one picture are told in parts, in order`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    let count = 2 * Turns.waitersAtOnce + 1
    for number in 1...count {
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    }
    stage.settle()
    stage.decoding.letThrough()
    // After the decoder's answer, and before the turns of those who have more to do.
    var left = 0
    stage.decoding.loop?.nextTick { left = stage.core.parts.jobs.count }
    stage.settle()
    #expect(left == count - Turns.waitersAtOnce)
    for number in 1...count {
      let line = try stage.client.receive()
      #expect(line["ok"] == true && line["id"]?.integer == Int64(number))
    }
    #expect(stage.core.parts.jobs.count == 0)
  }

  @Test func `a thumbnail is an entry of its own in both tiers, also after a restart`() throws {
    let stage = try stage()
    let first = try ask(thumbnail, of: stage)
    #expect(first["source"]?.string == "network")
    #expect(first["width"]?.integer == 20 && first["bytes"]?.integer == 500)
    let path = try #require(first["path"]?.string)
    #expect(readBytes(path)?.count == 500)
    #expect(try ask(thumbnail, of: stage)["source"]?.string == "memory")
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    #expect(try ask(thumbnail, of: stage)["source"]?.string == "disk")
    try stage.restart()
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    let last = try ask(thumbnail, of: stage)
    #expect(last["source"]?.string == "disk" && last["path"]?.string == path)
    #expect(stage.decoding.orders.count == 1)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `a thumbnail is found without reading its original`() throws {
    let stage = try stage()
    _ = try ask(thumbnail, of: stage)
    _ = try stage.client.ask(#"{"cmd":"purge","tier":"memory"}"#)
    let line = try ask(thumbnail, of: stage)
    #expect(line["ok"] == true)
    // The original has not risen into memory.
    #expect(try stage.stats("memory", "entries") == 1)
  }

  @Test(arguments: [
    #""resize":{"width":20,"height":11}"#, #""resize":{"width":20,"height":10,"fit":"cover"}"#,
    #""resize":{"width":20,"height":10,"fit":"cover","crop":"attention"}"#,
    #""resize":{"width":20,"height":10,"linear":true}"#, #""resize":{"width":20}"#,
    #""resize":{"width":20,"height":10},"format":"webp""#,
    #""resize":{"width":20,"height":10},"quality":50"#,
    #""resize":{"width":20,"height":10,"enlarge":true}"#,
    #""resize":{"width":20,"height":10},"deliver":"pixels""#,
    #""resize":{"width":20,"height":10},"identifier":"dark""#,
  ])
  func `another form is another entry`(fields: String) throws {
    let stage = try stage()
    _ = try ask(thumbnail, of: stage)
    #expect(try ask(fields, of: stage)["ok"] == true)
    #expect(stage.decoding.orders.count == 2)
    _ = try ask(fields, of: stage)
    #expect(stage.decoding.orders.count == 2)
  }

  @Test func `a purge by URL takes all that was made of the picture`() throws {
    let stage = try stage()
    _ = try ask(thumbnail + #","deliver":"none""#, of: stage)
    _ = try ask(#""deliver":"pixels""#, of: stage)
    try stage.play(
      #"""
      > {"cmd":"purge","url":"ORIGIN/a.png"}
      < {"ok":true,"removed":true,"memory":{"entries":3},"disk":{"entries":2}}
      """#)
    #expect(stage.files.isEmpty)
    #expect(try ask(thumbnail, of: stage)["source"]?.string == "network")
  }

  @Test func `a purge by tag takes it, too`() throws {
    let stage = try stage()
    _ = try ask(thumbnail + #","tags":["page"]"#, of: stage)
    try stage.play(
      #"""
      > {"cmd":"purge","tag":"page"}
      < {"ok":true,"removed":true,"memory":{"entries":2},"disk":{"entries":2}}
      """#)
  }

  @Test func `a thumbnail of an earlier picture is never shown`() throws {
    let stage = try stage()
    let old = try ask(thumbnail, of: stage)
    stage.origin.plan("/a.png", .picture(TestPicture.png(width: 90, height: 90, seed: 1)))
    #expect(try ask(#""cache":"reload","deliver":"none""#, of: stage)["ok"] == true)
    let new = try ask(thumbnail, of: stage)
    #expect(new["path"] != old["path"])
    #expect(stage.decoding.orders.count == 2)
  }

  @Test func `a picture that its origin confirms keeps what was made of it`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a.png",
      .conditional(
        TestPicture.png(width: 100, height: 50), tag: "\"1\"",
        headers: [("Cache-Control", "max-age=60")]))
    _ = try ask(thumbnail, of: stage)
    stage.pass(.seconds(61))
    let line = try ask(thumbnail, of: stage)
    #expect(line["source"]?.string == "revalidated")
    #expect(line["fresh_for"]?.integer == 60)
    let again = try ask(thumbnail, of: stage)
    #expect(again["source"]?.string == "memory" && again["fresh_for"]?.integer == 60)
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `nothing that was made of a picture outlives it`() throws {
    let stage = try stage("Disk.Enabled=no")
    _ = try ask(thumbnail, of: stage)
    stage.origin.plan("/a.png", .status(404))
    #expect(try ask(#""cache":"reload""#, of: stage)["ok"] == false)
    let line = try ask(thumbnail + #","cache":"only-if-cached""#, of: stage)
    #expect(line.outcome == "http_status cached")
  }

  @Test func `what may not be stored is made each time`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a.png",
      .picture(TestPicture.png(width: 100, height: 50), headers: [("Cache-Control", "no-store")]))
    for _ in 1...2 { #expect(try ask(thumbnail, of: stage)["path"] == .null) }
    #expect(stage.decoding.orders.count == 2)
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test func `a purge during the making lets nothing be kept`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    stage.settle()
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"purge"}"#)["ok"] == true)
    stage.decoding.letThrough()
    #expect(try stage.client.receive()["ok"] == true)
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test(arguments: [(#""tag":"other""#, 2), (#""tier":"disk""#, 2), (#""tier":"memory""#, 0)])
  func `a purge of something else during the making lets it be kept`(
    purge: String, kept: Int
  ) throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    stage.settle()
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"purge",\#(purge)}"#)["ok"] == true)
    stage.decoding.letThrough()
    #expect(try stage.client.receive()["ok"] == true)
    #expect(try stage.stats("memory", "entries") == kept)
  }

  @Test func `what was fetched with credentials is made for their user alone`() throws {
    let stage = try stage()
    let secret = thumbnail + #","headers":{"Authorization":"Basic eA=="}"#
    #expect(try ask(secret, of: stage)["deliver_note"]?.string?.isEmpty == false)
    _ = try ask(secret, of: stage)
    #expect(stage.decoding.orders.count == 1)
    _ = try ask(thumbnail, of: stage)
    #expect(stage.decoding.orders.count == 2)
    #expect(stage.files.count == 2)
  }

  @Test(arguments: [
    #""resize":{"width":100,"height":50}"#, #""resize":{"width":1000}"#, #""resize":{"height":50}"#,
    #""resize":{"width":200,"height":200,"fit":"cover"}"#, #""format":"png""#,
    #""resize":{"width":100,"height":80,"enlarge":true}"#,
    #""resize":{"width":300},"format":"png""#,
  ])
  func `a picture that needs nothing passes through untouched`(fields: String) throws {
    let stage = try stage()
    let line = try ask(fields + #","deliver":"inline""#, of: stage)
    #expect(
      Base64.decode(line["data"]?.string ?? "") == TestPicture.png(width: 100, height: 50))
    #expect(stage.decoding.orders.isEmpty)
  }

  @Test(arguments: [
    (DecodeFailure.Cause.damaged, "decode_failed"), (.unsupported, "unsupported_format"),
    (.tooLarge, "too_many_pixels"), (.crashed, "decode_crashed"), (.timedOut, "timeout"),
    (.unmade, "decode_failed"), (.killed, "decode_crashed"),
    (.unavailable, "unavailable"),
  ])
  func `each failure of a decoder has its error, and the picture stays cached`(
    cause: DecodeFailure.Cause, code: String
  ) throws {
    let stage = try stage()
    stage.decoding.failure = DecodeFailure(cause, "the test says so")
    let line = try ask(thumbnail, of: stage)
    #expect(line["error"]?["code"]?.string == code)
    #expect(line["error"]?["message"]?.string?.contains("the test says so") == true)
    #expect(try ask(#""deliver":"none""#, of: stage)["source"]?.string == "memory")
  }

  @Test(arguments: [
    ("Decode.MaxPixels=4999", TestPicture.png(width: 100, height: 50)),
    ("Decode.MaxDimension=99", TestPicture.png(width: 100, height: 50)),
    ("Decode.MaxFrames=2", TestPicture.gif(width: 10, height: 10, frames: 3)),
    ("Decode.MaxPixels=299", TestPicture.gif(width: 10, height: 10, frames: 3)),
  ])
  func `a picture beyond the limits never reaches a decoder`(
    setting: String, picture: [UInt8]
  ) throws {
    let stage = try CoreStage(setting)
    stage.origin.plan("/a.png", .picture(picture))
    let line = try ask(#""deliver":"pixels""#, of: stage)
    #expect(line["error"]?["code"]?.string == "too_many_pixels")
    #expect(line["error"]?["message"]?.string?.contains(" 1 frames") == false)
    #expect(stage.decoding.orders.isEmpty)
  }

  @Test func `pictures that wait for a decoder hold no more than their share of memory`() throws {
    let stage = try CoreStage("Downloads.MaxBytes=64M", "Memory.Capacity=1M")
    stage.decoding.isHeld = true
    let client = try stage.connect(as: 4_711)
    let picture = TestPicture.png(width: 10, height: 10, padding: 50 << 20)
    for number in 1...3 {
      stage.origin.plan("/\(number).png", .picture(picture))
      try client.send(
        #"{"cmd":"fetch","id":\#(number),"url":"\#(stage.origin.url("/\(number).png"))","deliver":"pixels","store":"none"}"#
      )
    }
    let line = try client.receive()
    #expect(line["id"]?.integer == 3 && line["error"]?["code"]?.string == "queue_full")
    #expect(line["error"]?["retryable"] == true)
    #expect(try stage.stats("held", "decoding") == 2 * picture.count)
    stage.decoding.letThrough()
    for _ in 1...2 { #expect(try client.receive()["ok"] == true) }
    #expect(try stage.stats("held", "decoding") == 0)
  }

  @Test func `one share leaves room for the pictures of others, and has one picture once`() throws {
    let stage = try CoreStage("Downloads.MaxBytes=64M", "Memory.Capacity=1M")
    stage.decoding.isHeld = true
    let client = try stage.connect(as: 4_711)
    let picture = TestPicture.png(width: 10, height: 10, padding: 30 << 20)
    for number in 1...4 { stage.origin.plan("/\(number).png", .picture(picture)) }
    stage.origin.plan("/small.png", .picture(TestPicture.png(width: 9, height: 9)))
    func ask(_ id: Int, _ name: String, _ share: String, width: Int = 5) throws {
      try client.send(
        #"{"cmd":"fetch","id":\#(id),"url":"\#(stage.origin.url("/\(name).png"))","resize":{"width":\#(width)},"store":"none","share":"\#(share)"}"#
      )
    }
    for width in 1...5 { try ask(width, "1", "a", width: width) }
    for number in 2...3 { try ask(10 + number, "\(number)", "a") }
    try ask(14, "4", "a")
    let refused = try client.receive()
    #expect(refused["id"]?.integer == 14 && refused["error"]?["code"]?.string == "queue_full")
    try ask(20, "small", "b")
    #expect(try stage.stats("held", "decoding") > 3 * picture.count)
    stage.decoding.letThrough()
    var answered: Set<Int64> = []
    for _ in 0..<8 {
      let line = try client.receive()
      #expect(line["ok"] == true, "\(line)")
      answered.insert(line["id"]?.integer ?? 0)
    }
    #expect(answered.contains(20))
    #expect(try stage.stats("held", "decoding") == 0)
  }

  @Test func `a rendition is given up when the last who waits for it leaves`() throws {
    let stage = try stage()
    stage.decoding.isHeld = true
    for number in 1...2 {
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a.png","deliver":"pixels","receipt":"0b6c1f0e-7a5d-4b52-8d6e-3f1f6f0f9a0\#(number)"}"#
      )
    }
    stage.settle()
    try stage.play(
      #"""
      > {"cmd":"cancel","id":3,"receipt":"0b6c1f0e-7a5d-4b52-8d6e-3f1f6f0f9a01"}
      < {"id":1,"ok":false,"error":{"code":"cancelled"}}
      < {"id":3,"ok":true,"state":"running"}
      """#)
    #expect(stage.decoding.aborted.isEmpty)
    try stage.play(
      #"""
      > {"cmd":"cancel","id":3,"receipt":"0b6c1f0e-7a5d-4b52-8d6e-3f1f6f0f9a02"}
      < {"id":2,"ok":false,"error":{"code":"cancelled"}}
      < {"id":3,"ok":true}
      """#)
    #expect(stage.decoding.aborted == [stage.decoding.orders[0].serial])
    stage.decoding.letThrough()
    #expect(try ask(#""deliver":"pixels""#, of: stage)["ok"] == true)
  }

  @Test func `a time-out says that a decoder was waited for`() throws {
    let stage = try stage()
    _ = try ask(#""deliver":"none""#, of: stage)
    stage.decoding.isHeld = true
    try stage.begin(
      #"{"cmd":"fetch","url":"ORIGIN/a.png","deliver":"pixels","timeout_ms":100}"#)
    stage.pass(.milliseconds(100))
    let line = try stage.client.receive()
    #expect(line["error"]?["details"]?["phase"]?.string == "decode")
    #expect(stage.decoding.aborted.count == 1)
  }

  @Test func `the deadline of a transfer is over with the transfer`() throws {
    let stage = try stage("Downloads.Timeout=10s")
    stage.decoding.isHeld = true
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"pixels"}"#)
    stage.pass(.seconds(60))
    stage.decoding.letThrough()
    #expect(try stage.client.receive()["ok"] == true)
  }

  @Test func `the outcome of a detached fetch has its form, and can be had as pixels`() throws {
    let stage = try stage()
    let receipt = "c1f7f2a4-51c9-4e0c-b0a6-0a4f0e2c7d02"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","wait":false,"receipt":"\#(receipt)","resize":{"width":20,"height":10}}
      < {"id":1,"ok":true,"state":"…"}
      > {"cmd":"wait","id":2,"receipt":"\#(receipt)","deliver":"none"}
      < {"id":2,"ok":true,"width":20,"bytes":500}
      > {"cmd":"wait","id":3,"receipt":"\#(receipt)","deliver":"pixels"}
      < {"id":3,"ok":true,"fds":[{"kind":"pixels"}]}
      """#)
    let pixels = "c1f7f2a4-51c9-4e0c-b0a6-0a4f0e2c7d03"
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a.png","wait":false,"receipt":"\#(pixels)","deliver":"pixels"}
      < {"id":1,"ok":true,"state":"…"}
      > {"cmd":"wait","id":2,"receipt":"\#(pixels)"}
      < {"id":2,"ok":true,"fds":[{"kind":"pixels"}]}
      > {"cmd":"wait","id":3,"receipt":"\#(pixels)","deliver":"path"}
      < {"id":3,"ok":false,"error":{"code":"unavailable"}}
      """#)
  }
}
