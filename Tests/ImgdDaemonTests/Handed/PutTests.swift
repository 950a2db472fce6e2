import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Pictures that clients put under a URL.
struct PutTests {
  private let mine = TestPicture.png(bytes: 1_000, seed: 1)
  private let theirs = TestPicture.png(bytes: 900, seed: 2)

  private func put(_ stage: CoreStage, _ fields: String = "", on client: TestClient) throws -> JSONValue {
    let number = try handedMemory(mine)
    defer { close(number) }
    return try client.ask(#"{"cmd":"put","url":"\#(stage.base)/a"\#(fields)}"#, with: number)
  }

  private func bytes(_ stage: CoreStage, _ fields: String = "", on client: TestClient) throws -> String {
    let line = try stage.ask("/a", #""deliver":"none"\#(fields)"#, on: client)
    return "\(line.outcome) \(line["bytes"]?.integer ?? 0)"
  }

  @Test(arguments: HitTier.allCases)
  func `what a user puts is that user's, in either tier and after a restart`(tier: HitTier) throws {
    let stage = try CoreStage("Control.Put=own")
    stage.origin.plan("/a", .picture(theirs))
    let line = try put(stage, #","tags":["t"],"ttl":1000"#, on: stage.connect(as: 7))
    #expect(line.outcome == "client" && line["bytes"]?.integer == 1_000 && line["fresh_for"]?.integer == 1_000)
    try stage.leave(in: tier)
    let only = #","cache":"only-if-cached""#
    #expect(try bytes(stage, only, on: stage.connect(as: 7)) == "\(tier.rawValue) 1000")
    #expect(try bytes(stage, only, on: stage.connect(as: 8)) == "not_cached 0")
    #expect(try bytes(stage, on: stage.connect(as: 8)) == "network 900")
    #expect(try bytes(stage, on: stage.connect(as: 7)) == "memory 1000")
    #expect(try bytes(stage, #","identifier":"i""#, on: stage.connect(as: 7)) == "network 900")
    try stage.restart()
    #expect(try bytes(stage, only, on: stage.connect(as: 7)) == "disk 1000")
    #expect(try bytes(stage, only, on: stage.connect(as: 8)) == "disk 900")
  }

  @Test func `lines of a known shape are shown what their user has put since`() throws {
    let stage = try CoreStage("Control.Put=own")
    stage.origin.plan("/a", .picture(theirs))
    let (one, other) = (try stage.connect(as: 7), try stage.connect(as: 8))
    for client in [one, other] { for _ in 0..<4 { _ = try bytes(stage, on: client) } }
    let hits = stage.core.parts.hits.count
    #expect(hits > 2)
    #expect(try put(stage, on: stage.connect(as: 7)).outcome == "client")
    for _ in 0..<4 {
      #expect(try bytes(stage, on: one) == "memory 1000")
      #expect(try bytes(stage, on: other) == "memory 900")
    }
    #expect(stage.core.parts.hits.count == hits + 4, "the other user's lines are still not parsed")
  }

  @Test func `what a user has put is shown as long as it is fresh`() throws {
    let stage = try CoreStage("Control.Put=own")
    stage.origin.plan("/a", .picture(theirs, headers: [("Cache-Control", "max-age=1000")]))
    let client = try stage.connect(as: 7)
    _ = try put(stage, #","ttl":10"#, on: client)
    #expect(try bytes(stage, #","cache":"no-cache""#, on: client) == "network 900")
    #expect(try bytes(stage, on: client) == "memory 1000")
    stage.pass(.seconds(11))
    #expect(try bytes(stage, on: client) == "memory 900")
  }

  @Test func `a query is about what its user has put, and a purge reaches it`() throws {
    let stage = try CoreStage("Control.Put=own")
    _ = try put(stage, on: stage.connect(as: 7))
    let query = #"{"cmd":"query","url":"\#(stage.base)/a"}"#
    #expect(try stage.connect(as: 7).ask(query)["tier"]?.string == "memory")
    #expect(try stage.connect(as: 8).ask(query)["tier"]?.string == "none")
    try stage.leave(in: .disk)
    #expect(try stage.connect(as: 7).ask(query)["tier"]?.string == "disk")
    #expect(try stage.client.ask(#"{"cmd":"purge","url":"\#(stage.base)/a"}"#)["ok"]?.bool == true)
    #expect(try stage.connect(as: 7).ask(query)["tier"]?.string == "none")
  }

  @Test func `what is put for all is found by all, and an administrator may say so`() throws {
    let stage = try CoreStage("Control.Put=own")
    let forAll = #","for":"all""#
    #expect(try put(stage, forAll, on: stage.connect(as: 7)).outcome == "forbidden")
    #expect(try put(stage, forAll, on: stage.client).outcome == "client")
    #expect(try bytes(stage, on: stage.connect(as: 8)) == "memory 1000")
    let open = try CoreStage("Control.Put=all")
    #expect(try put(open, on: open.connect(as: 7)).outcome == "client")
    #expect(try bytes(open, on: open.connect(as: 8)) == "memory 1000")
    let closed = try CoreStage("Control.Put=all", "Control.Share=own")
    #expect(try put(closed, forAll, on: closed.client).outcome == "bad_request")
    #expect(try put(closed, on: closed.connect(as: 7)).outcome == "client")
    #expect(try bytes(closed, #","cache":"only-if-cached""#, on: closed.connect(as: 8)) == "not_cached 0")
    #expect(try bytes(closed, #","cache":"only-if-cached""#, on: closed.connect(as: 7)) == "memory 1000")
  }

  @Test func `a put is newer than a download under way, and than an answer that is remembered`() throws {
    let stage = try CoreStage("Control.Put=all")
    let gate = Gate()
    stage.origin.plan("/a", .status(404), .held(at: gate, then: .picture(theirs)))
    #expect(try bytes(stage, on: stage.client) == "http_status 0")
    let late = try stage.connect()
    try late.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"none","cache":"reload"}"#)
    stage.settle()
    #expect(try put(stage, on: stage.client).outcome == "client")
    gate.open()
    #expect(try late.receive()["bytes"]?.integer == 900)
    #expect(try bytes(stage, on: stage.client) == "memory 1000")
    try stage.leave(in: .disk)
    #expect(try bytes(stage, on: stage.client) == "disk 1000")
  }

  /// It is another transfer than that of a plain request, which the put would keep out by itself.
  @Test func `a put is newer than a download with credentials that all may have`() throws {
    let stage = try CoreStage("Control.Put=all")
    let gate = Gate()
    let answer = OriginAnswer.picture(theirs, headers: [("Cache-Control", "public, max-age=1000")])
    stage.origin.plan("/a", .held(at: gate, then: answer))
    let late = try stage.connect()
    try late.send(
      #"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"none","headers":{"Authorization":"mine"}}"#)
    stage.settle()
    #expect(try put(stage, on: stage.client).outcome == "client")
    gate.open()
    #expect(try late.receive()["bytes"]?.integer == 900)
    #expect(try bytes(stage, on: stage.client) == "memory 1000")
  }

  /// Memory may have let go of the newer one when the copy of the older one is there.
  @Test func `of two that are put the one that was asked for last stays, whichever is copied first`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies, "Control.Put=all")
    for (place, picture) in [mine, theirs].enumerated() {
      let number = try handedMemory(picture)
      defer { close(number) }
      try stage.client.send(#"{"cmd":"put","id":\#(place),"url":"\#(stage.base)/a"}"# + "\n", with: [number])
      stage.settle()
      #expect(copies.waitUntilHeld(place + 1))
    }
    copies.letGo(of: try #require(copies.begun.max()))
    while stage.core.parts.copies.count > 1 { stage.tick() }
    #expect(try stage.client.receive()["bytes"]?.integer == 900)
    try stage.leave(in: .disk)
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try stage.client.receive()["bytes"]?.integer == 1_000)
    for tier in ["disk", "memory"] {
      #expect(try bytes(stage, #","cache":"only-if-cached""#, on: stage.client) == "\(tier) 900")
    }
  }

  @Test func `a purge while a picture is being put keeps it out`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies, "Control.Put=all")
    let number = try handedMemory(mine)
    defer { close(number) }
    try stage.client.send(#"{"cmd":"put","id":1,"url":"\#(stage.base)/a","tags":["t"]}"# + "\n", with: [number])
    stage.settle()
    #expect(copies.waitUntilHeld(1))
    #expect(try stage.connect().ask(#"{"cmd":"purge","tag":"t"}"#)["ok"]?.bool == true)
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try stage.client.receive().outcome == "client")
    #expect(try bytes(stage, #","cache":"only-if-cached""#, on: stage.client) == "not_cached 0")
  }

  @Test func `a picture inside the line is put as well`() throws {
    let stage = try CoreStage("Control.Put=all")
    var letters: [UInt8] = []
    letters.append(base64: mine.span)
    let data = String(decoding: letters, as: UTF8.self)
    let put = { (fields: String) in #"{"cmd":"put","url":"\#(stage.base)/a"\#(fields)}"# }
    #expect(try stage.client.ask(put(#","data":"\#(data)""#)).outcome == "client")
    #expect(try bytes(stage, on: stage.client) == "memory 1000")
    #expect(try stage.client.ask(put(#","data":"\#(data)x""#)).outcome == "bad_request")
    #expect(try stage.client.ask(put(#","data":"aGVsbG8=""#)).outcome == "not_an_image")
    #expect(try stage.client.ask(put("")).outcome == "bad_request")
    let empty = try stage.client.ask(put(#","data":"""#))["error"]?["message"]?.string ?? ""
    #expect(empty.contains("at most \(WireLimits.standard.line) bytes") && empty.contains("descriptor"), "\(empty)")
    #expect(try stage.client.ask(put("").replacing("http:", with: "ftp:")).outcome == "blocked_scheme")
    let number = try handedMemory(mine)
    defer { close(number) }
    #expect(try stage.client.ask(put(#","data":"\#(data)""#), with: number).outcome == "bad_request")
    try stage.apply("Downloads.AcceptTypes=jpeg", "Downloads.MaxBytes=1K")
    #expect(try stage.client.ask(put(#","data":"\#(data)""#)).outcome == "unsupported_format")
    try stage.apply("Downloads.MaxBytes=999")
    #expect(try stage.client.ask(put("").dropLast() + "}", with: number).outcome == "too_large")
  }

  @Test func `nothing of one user's is found by another where nothing is shared`() throws {
    let stage = try CoreStage("Control.Share=own")
    stage.origin.plan("/a", .picture(theirs))
    stage.origin.plan("/moved", .redirect(to: "/a", headers: [("Cache-Control", "max-age=1000")]))
    stage.origin.plan("/gone", .status(404, headers: [("Cache-Control", "max-age=1000")]))
    for (turn, uid) in [UInt32(7), 8].enumerated() {
      let client = try stage.connect(as: uid)
      for path in ["/moved", "/gone"] {
        #expect(try stage.ask(path, #""cache":"only-if-cached""#, on: client).outcome == "not_cached")
      }
      #expect(try bytes(stage, on: client) == "network 900")
      #expect(try bytes(stage, on: client) == "memory 900")
      #expect(try stage.ask("/moved", #""deliver":"none""#, on: client).outcome == "memory")
      for _ in 0..<2 { _ = try stage.ask("/gone", on: client) }
      #expect(try stage.ask("/a", #""deliver":"pixels""#, on: client)["ok"]?.bool == true)
      for path in ["/a", "/moved", "/gone"] { #expect(stage.origin.count(path) == turn + 1, "\(path)") }
      #expect(stage.decoding.orders.count == turn + 1)
    }
    #expect(stage.core.parts.hits.count == 0, "a line of a known shape names no user")
  }

  @Test func `downloads of several users are not merged where nothing is shared`() throws {
    let stage = try CoreStage("Control.Share=own")
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(theirs)))
    let clients = try [UInt32(7), 8, 8].map { try stage.connect(as: $0) }
    for client in clients { try client.send(#"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"none"}"#) }
    stage.settle()
    #expect(stage.origin.count("/a") == 2)
    gate.open()
    for client in clients { #expect(try client.receive().outcome == "network") }
  }
}
