import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Decoders that many want at once.
struct DecoderShareTests {
  private let stage: CoreStage

  init() throws {
    stage = try CoreStage()
    stage.origin.plan("/a.png", .picture(TestPicture.png(width: 100, height: 50)))
  }

  enum Other: CaseIterable {
    case share, connection, user
  }

  private func client(_ other: Other) throws -> TestClient {
    switch other {
    case .share: stage.client
    case .connection: try stage.connect()
    case .user: try stage.connect(as: 4_711)
    }
  }

  /// Asks for forms that are expected to take a decoder seconds, of these widths.
  private func beginSlow(_ widths: ClosedRange<Int>) throws {
    for width in widths {
      try stage.begin(
        #"{"cmd":"fetch","id":\#(width),"url":"ORIGIN/a.png","resize":{"width":\#(width),"height":9000,"fit":"fill","enlarge":true},"format":"avif","share":"slow","deliver":"none"}"#
      )
    }
    stage.settle()
  }

  private func beginThumbnail(
    _ width: Int, _ fields: String = "", on client: TestClient? = nil
  ) throws {
    try stage.begin(
      #"{"cmd":"fetch","id":\#(width),"url":"ORIGIN/a.png","resize":{"width":\#(width)},"deliver":"none"\#(fields)}"#,
      on: client ?? stage.client)
    stage.settle()
  }

  @Test(arguments: Other.allCases)
  func `with two decoders a thumbnail waits for no slow form of somebody else`(
    other: Other
  ) throws {
    stage.decoding.workers = 2
    try beginSlow(9_001...9_030)
    #expect(stage.decoding.runningWidths == [9_001])
    let client = try client(other)
    try beginThumbnail(20, on: client)
    #expect(stage.decoding.runningWidths == [9_001, 20])
    stage.decoding.finish(width: 20)
    #expect(try client.receive()["id"]?.integer == 20)
  }

  @Test(arguments: Other.allCases)
  func `with one decoder a thumbnail waits for the order that runs`(other: Other) throws {
    stage.decoding.workers = 1
    try beginSlow(9_001...9_030)
    let client = try client(other)
    try beginThumbnail(20, on: client)
    try beginThumbnail(21, on: client)
    #expect(stage.decoding.runningWidths == [9_001])
    stage.pass(.seconds(5))
    stage.decoding.finish(width: 9_001)
    #expect(stage.decoding.runningWidths == [20])
    stage.decoding.finish(width: 20)
    #expect(stage.decoding.runningWidths == [21])
  }

  @Test func `a share parts nothing of what is merged or cached`() throws {
    stage.decoding.workers = 1
    try beginThumbnail(20, #","share":"a""#)
    let other = try stage.connect()
    try beginThumbnail(20, #","share":"b""#, on: other)
    stage.decoding.finish(width: 20)
    for client in [stage.client, other] { #expect(try client.receive()["ok"] == true) }
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a.png","resize":{"width":20},"deliver":"none","share":"c"}
      < {"ok":true,"source":"memory"}
      """#)
    #expect(stage.decoding.orders.count == 1)
    #expect(stage.origin.count("/a.png") == 1)
  }

  @Test func `a form that was asked for before comes in the turn of who asks next`() throws {
    stage.decoding.workers = 1
    try beginSlow(9_001...9_010)
    try beginThumbnail(20, #","share":"slow","priority":"low""#)
    let other = try stage.connect()
    try beginThumbnail(20, #","priority":"high""#, on: other)
    stage.decoding.finish(width: 9_001)
    #expect(stage.decoding.runningWidths == [20])
    #expect(stage.decoding.orders.count == 11)
    stage.decoding.finish(width: 20)
    #expect(try other.receive()["ok"] == true)
  }

  @Test(arguments: [true, false])
  func `a form falls back when who gave it its place leaves`(isByHangingUp: Bool) throws {
    stage.decoding.workers = 1
    try beginSlow(9_001...9_003)
    try beginThumbnail(20, #","share":"slow""#)
    var other: TestClient? = try stage.connect()
    let receipt = #""receipt":"0b6c1f0e-7a5d-4b52-8d6e-3f1f6f0f9a01""#
    try beginThumbnail(20, #","priority":"high",\#(receipt)"#, on: other)
    if isByHangingUp { other = nil }
    try other?.send(#"{"cmd":"cancel","id":2,\#(receipt)}"#)
    stage.settle()
    for width in [9_001, 9_002, 9_003] {
      #expect(stage.decoding.runningWidths == [width])
      stage.decoding.finish(width: width)
    }
    #expect(stage.decoding.runningWidths == [20])
  }

  @Test func `forms that are given up while they are made are paid all the same`() throws {
    stage.decoding.workers = 1
    try beginThumbnail(9, #","share":"slow","tags":["gone"]"#)
    for width in 20...23 { try beginThumbnail(width) }
    try beginThumbnail(10, #","share":"slow""#)
    try stage.client.send(#"{"cmd":"cancel","id":2,"tag":"gone"}"#)
    stage.pass(.seconds(5))
    var order: [Int] = []
    while let width = stage.decoding.runningWidths.first {
      order.append(width)
      stage.decoding.finish(width: width)
    }
    #expect(order == [9, 20, 21, 22, 23, 10])
  }
}
