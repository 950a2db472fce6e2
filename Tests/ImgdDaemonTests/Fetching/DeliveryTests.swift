import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

struct DeliveryTests {
  @Test func `a path is that of a file with the origin's bytes`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    let line = try stage.fetch("/a.png")
    let path = try #require(line["path"]?.string)
    #expect(path.hasSuffix(".png"))
    #expect(readBytes(path) == png())
    #expect(line["deliver_note"] == nil)
  }

  @Test func `a path is null without a disk tier, and a note gives the remedy`() throws {
    let stage = try CoreStage("Disk.Enabled=no")
    stage.origin.plan("/a.png", .picture(png()))
    let line = try stage.fetch("/a.png")
    #expect(line["path"] == .null)
    #expect(line["deliver_note"]?.string?.isEmpty == false)
    #expect(line["data"] == nil && line["fds"] == nil)
    #expect(stage.client.takeDescriptor() == nil)
  }

  @Test func `the delivery none contains only the properties`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png()))
    let line = try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"none"}
      < {"ok":true,"bytes":1000}
      """#)[0]
    #expect(["path", "deliver_note", "data", "fds"].allSatisfy { line[$0] == nil })
  }

  @Test(arguments: [100, 4_095, 4_096, 4_097, 65_536, 262_143, 262_144])
  func `the delivery inline contains exactly the bytes of the origin`(count: Int) throws {
    let stage = try CoreStage()
    let picture = count < 500 ? TestPicture.gif(width: 2, height: 2) : jpeg(count)
    stage.origin.plan("/a", .picture(picture))
    for source in ["network", "memory"] {
      let line = try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a","deliver":"inline"}
        < {"ok":true,"source":"\#(source)"}
        """#)[0]
      #expect(Base64.decode(line["data"]?.string ?? "") == picture)
    }
  }

  @Test func `a picture too large for inline is cached all the same`() throws {
    let stage = try CoreStage("Control.MaxInline=2K")
    stage.origin.plan("/a.png", .picture(png(2_049)))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"inline"}
      < {"ok":false,"receipt":"…","error":{"code":"too_large_inline","retryable":false}}
      > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"none"}
      < {"ok":true,"source":"memory","bytes":2049}
      """#)
  }

  @Test(arguments: [600, 5_000, 300_000])
  func `a descriptor carries the bytes, sealed and read-only`(count: Int) throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png(count)))
    for source in ["network", "memory"] {
      try stage.play(
        #"""
        > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"fd"}
        < {"ok":true,"source":"\#(source)","fds":[{"kind":"encoded","bytes":\#(count)}]}
        """#)
      let descriptor = try #require(stage.client.takeDescriptor())
      defer { close(descriptor) }
      #expect(contents(of: descriptor) == png(count))
      #expect(write(descriptor, "x", 1) == -1)
      #expect(ftruncate(descriptor, 0) == -1)
      // F_GET_SEALS: no shrinking, growing, writing, and no further seals.
      #expect(fcntl(descriptor, 1034) & 0xf == 0xf)
      #expect(stage.client.takeDescriptor() == nil)
    }
  }

  @Test func `two receivers of one download have separate offsets`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png(5_000))))
    let clients = [stage.client, try stage.connect()]
    for client in clients {
      try stage.begin(
        #"{"cmd":"fetch","url":"ORIGIN/a.png","deliver":"fd"}"#, on: client)
    }
    gate.open()
    let descriptors = try clients.map { client in
      _ = try client.receive()
      return try #require(client.takeDescriptor())
    }
    defer { for descriptor in descriptors { close(descriptor) } }
    #expect(lseek(descriptors[0], 700, SEEK_SET) == 700)
    #expect(lseek(descriptors[1], 0, SEEK_CUR) == 0)
    #expect(contents(of: descriptors[1]) == png(5_000))
    #expect(contents(of: descriptors[0]) == Array(png(5_000).dropFirst(700)))
  }

  @Test func `a descriptor outlives its entry`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(png(5_000)))
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","deliver":"fd"}
      < {"ok":true}
      > {"cmd":"purge"}
      < {"ok":true,"memory":{"entries":1}}
      """#)
    let descriptor = try #require(stage.client.takeDescriptor())
    defer { close(descriptor) }
    #expect(contents(of: descriptor) == png(5_000))
  }

  @Test func `lines with pictures are sent in their order among others`() throws {
    let stage = try CoreStage()
    let pictures = [jpeg(28_000), png(9_000), jpeg(100_000)]
    for (number, picture) in pictures.enumerated() {
      stage.origin.plan("/\(number)", .picture(picture))
      try stage.fetch("/\(number)")
    }
    let deliveries = ["inline", "none", "inline", "fd", "inline"]
    let requests = (0..<60).map { id in
      let url = "\(stage.base)/\(id % pictures.count)"
      let delivery = deliveries[id % deliveries.count]
      return #"{"cmd":"fetch","id":\#(id),"url":"\#(url)","deliver":"\#(delivery)"}"#
    }
    try stage.client.sendRaw(Array((requests.joined(separator: "\n") + "\n").utf8))
    for (id, line) in try stage.client.receive(60).enumerated() {
      let isInline = deliveries[id % deliveries.count] == "inline"
      #expect(line["id"]?.integer == Int64(id))
      let data = line["data"]?.string.flatMap { Base64.decode($0) }
      #expect(data == (isInline ? pictures[id % pictures.count] : nil))
      if line["fds"] != nil { close(try #require(stage.client.takeDescriptor())) }
    }
  }

  @Test func `many descriptors each arrive with their own line`() throws {
    let stage = try CoreStage()
    for number in 0..<100 {
      stage.origin.plan("/\(number)", .picture(png(600 + number, seed: UInt64(number))))
    }
    for number in 0..<100 {
      try stage.client.send(
        #"{"cmd":"fetch","id":\#(number),"url":"\#(stage.base)/\#(number)","deliver":"fd"}"#)
    }
    for _ in 0..<100 {
      let line = try stage.client.receive()
      let number = Int(try #require(line["id"]?.integer))
      let descriptor = try #require(stage.client.takeDescriptor())
      #expect(contents(of: descriptor) == png(600 + number, seed: UInt64(number)))
      close(descriptor)
    }
  }

  @Test func `each request of a shared download gets its own form of delivery`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png(5_000))))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","deliver":"inline"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png","deliver":"none"}"#,
      #"{"cmd":"fetch","id":3,"url":"ORIGIN/a.png"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true,"data":"…","coalesced":false}
      < {"id":2,"ok":true,"coalesced":true}
      < {"id":3,"ok":true,"path":"…","coalesced":true}
      """#)
  }
}
