import ImgdTestSupport
import ImgdWire
import Testing

struct CoalescingTests {
  @Test func `many clients share one transfer, and all but the first learn that they joined`()
    throws
  {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    let clients = try (0..<30).map { _ in try stage.connect() }
    for client in clients {
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.png"}"#, on: client)
    }
    #expect(try stage.stats("downloads", "active") == 1)
    gate.open()
    let lines = try clients.map { try $0.receive() }
    #expect(lines.allSatisfy { $0["ok"] == .bool(true) && $0["source"] == .string("network") })
    #expect(lines.map { $0["coalesced"]?.bool } == [false] + [Bool](repeating: true, count: 29))
    #expect(Set(lines.compactMap { $0["receipt"]?.string }).count == 30)
    #expect(stage.origin.count("/a.png") == 1)
    #expect(try stage.stats("downloads", "coalesced") == 29)
    #expect(try stage.stats("memory", "insertions") == 1)
  }

  @Test func `a miss that joins a download is told of beside the misses`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    for number in 1...5 {
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/a.png"}"#)
    }
    // Without a look-up before it, joining is no miss.
    try stage.begin(#"{"cmd":"fetch","id":6,"url":"ORIGIN/a.png","cache":"reload"}"#)
    gate.open()
    for _ in 1...6 { #expect(try stage.client.receive()["ok"] == true) }
    #expect(try stage.stats("memory", "misses") == 5)
    #expect(try stage.stats("memory", "coalesced") == 4)
  }

  @Test func `a joined request gets a first and a last progress`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .body(png(50_000), heldAfter: 1_000, at: gate))
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","progress":true}"#)
    try stage.play(#"< {"id":1,"event":"progress","received":0,"expected":50000}"#)
    let other = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"fetch","id":2,"url":"ORIGIN/a.png","progress":true}
      < {"id":2,"event":"progress","received":"…","expected":50000}
      """#, on: other)
    gate.open()
    for client in [stage.client, other] {
      try stage.play(
        #"""
        < {"event":"progress","received":50000,"expected":50000}
        < {"ok":true}
        """#, on: client)
    }
  }

  @Test func `each request of a shared transfer gets one error`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .status(404)))
    let clients = try (0..<5).map { _ in try stage.connect() }
    for client in clients {
      try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a.png"}"#, on: client)
    }
    gate.open()
    for client in clients {
      try stage.play(
        #"""
        < {"ok":false,"error":{"code":"http_status","details":{"status":404}}}
        > {"cmd":"ping"}
        < {"ok":true}
        """#, on: client)
    }
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test(arguments: [
    (#""cache":"reload""#, #""cache":"default""#, 1),
    (#""cache":"default""#, #""cache":"reload""#, 2),
    (#""cache":"default""#, #""cache":"no-cache""#, 2),
    (#""cache":"reload""#, #""cache":"no-cache""#, 1),
    (#""cache":"reload""#, #""cache":"reload""#, 1),
    (#""identifier":"x""#, #""identifier":"y""#, 2),
    (#""headers":{"Accept-Language":"fr"}"#, #""headers":{"Accept-Language":"de"}"#, 2),
    (#""headers":{"X-A":"1","X-B":"2"}"#, #""headers":{"x-b":"2","x-a":"1"}"#, 1),
    (#""headers":{"Authorization":"a"}"#, #""headers":{"Authorization":"b"}"#, 2),
    // The same character in two spellings, which are other bytes to an origin.
    (#""headers":{"X-Other":"\u00e9"}"#, #""headers":{"X-Other":"e\u0301"}"#, 2),
    (#""priority":"low""#, #""priority":"high""#, 1), (#""slot":"a""#, #""slot":"b""#, 1),
    (#""deliver":"none""#, #""deliver":"fd""#, 1), (#""ttl":1"#, #""ttl":2"#, 1),
  ])
  func `two requests for the same picture share a transfer`(
    one: String, other: String, transfers: Int
  ) throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png",\#(one)}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png",\#(other)}"#)
    #expect(stage.origin.count("/a.png") == transfers)
    #expect(try stage.stats("downloads", "started") == transfers)
    gate.open()
    let lines = try stage.client.receive(2)
    #expect(lines.allSatisfy { $0["ok"] == .bool(true) })
    let coalesced = lines.filter { $0["coalesced"] == .bool(true) }.count
    #expect(coalesced == 2 - transfers)
  }

  @Test func `a body too large for one request is delivered to another that shares it`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png(5_000))))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","max_bytes":100}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":false,"error":{"code":"too_large","details":{"limit":100}}}
      < {"id":2,"ok":true,"bytes":5000}
      """#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `the time limit of one request does not affect the other`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png","timeout_ms":30}"#)
    stage.pass(.milliseconds(30))
    try stage.play(#"< {"id":2,"ok":false,"error":{"code":"timeout"}}"#)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
  }

  @Test func `the longer time limit of a joined request applies to the transfer`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","timeout_ms":60}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png"}"#)
    stage.pass(.milliseconds(60))
    try stage.play(#"< {"id":1,"ok":false,"error":{"code":"timeout"}}"#)
    gate.open()
    try stage.play(#"< {"id":2,"ok":true,"source":"network"}"#)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `one request to store the picture is enough`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a.png", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a.png","store":"none"}"#,
      #"{"cmd":"fetch","id":2,"url":"ORIGIN/a.png","store":"memory"}"#)
    gate.open()
    try stage.play(
      #"""
      < {"id":1,"ok":true}
      < {"id":2,"ok":true}
      > {"cmd":"query","url":"ORIGIN/a.png"}
      < {"ok":true,"tier":"memory"}
      """#)
  }
}
