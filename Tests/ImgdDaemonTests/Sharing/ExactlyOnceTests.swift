import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

struct ExactlyOnceTests {
  /// Fetches and cancels at random over few URLs, while the origin lets answers go at random.
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `every fetch is answered exactly once in random sequences`(seed: UInt64) throws {
    var noise = Noise(seed: seed)
    let stage = try CoreStage("Downloads.MaxActive=3")
    let paths = (0..<6).map { "/\($0)" }
    var gates = paths.map { path in plan(path, on: stage, &noise) }
    let clients = [stage.client, try stage.connect(), try stage.connect()]
    var asked = [Int](repeating: 0, count: clients.count)
    var receipts: [String] = []
    for turn in 0..<2_000 {
      let who = Int(noise.next() % 3)
      switch noise.next() % 8 {
      case 0..<5:
        receipts.append(receipt(turn))
        try clients[who].send(
          fetch(turn, stage.base + paths.pick(&noise), receipts[receipts.count - 1], &noise))
        asked[who] += 1
      case 5, 6:
        guard !receipts.isEmpty else { continue }
        try clients[who].send(
          #"{"cmd":"cancel","id":\#(turn),"receipt":"\#(receipts.pick(&noise))"}"#)
        asked[who] += 1
      default:
        let which = Int(noise.next() % UInt64(paths.count))
        gates[which].open()
        gates[which] = plan(paths[which], on: stage, &noise)
      }
    }
    // From here on nothing is held any more.
    for path in paths { stage.origin.plan(path, .picture(png())) }
    for gate in gates { gate.open() }
    for (client, count) in zip(clients, asked) {
      let ids = try client.receive(count).map { $0["id"]?.integer ?? -1 }
      #expect(Set(ids).count == count)
      try client.play(
        #"""
        > {"cmd":"ping","id":"last"}
        < {"id":"last","ok":true}
        """#)
    }
    let downloads = try stage.client.ask(#"{"cmd":"stats"}"#)["downloads"]
    #expect(downloads?["active"] == .integer(0) && downloads?["queued"] == .integer(0))
    #expect((downloads?["peak_active"]?.integer ?? 9) <= 3)
  }

  private func receipt(_ number: Int) -> String {
    let digits = String(number)
    return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  private func fetch(_ id: Int, _ url: String, _ receipt: String, _ noise: inout Noise) -> String {
    let more = [
      "", "", #","cache":"reload""#, #","cache":"no-store""#, #","priority":"high""#,
      #","slot":"s""#, #","max_bytes":500"#, #","headers":{"X-A":"b"}"#, #","tags":["t"]"#,
    ].pick(&noise)
    return #"{"cmd":"fetch","id":\#(id),"url":"\#(url)","receipt":"\#(receipt)"\#(more)}"#
  }

  /// Holds the next answers of a path at a new gate; some of them are no good.
  private func plan(_ path: String, on stage: CoreStage, _ noise: inout Noise) -> Gate {
    let gate = Gate()
    let answers: [OriginAnswer] = [
      .picture(png()), .picture(png()), .status(404), .fails(.truncated), .fails(.connect),
      .picture(Array("no".utf8)),
    ]
    stage.origin.plan(path, .held(at: gate, then: answers.pick(&noise)))
    return gate
  }

  @Test func `clients that disconnect leave nothing behind`() throws {
    let stage = try CoreStage("Downloads.MaxActive=2")
    stage.origin.plan("/a", .silence)
    stage.origin.plan("/b", .silence)
    stage.origin.plan("/c", .picture(png()))
    for _ in 0..<30 {
      let client = try stage.connect()
      try stage.begin(
        #"{"cmd":"fetch","id":1,"url":"ORIGIN/a"}"#, #"{"cmd":"fetch","id":2,"url":"ORIGIN/b"}"#,
        #"{"cmd":"fetch","id":3,"url":"ORIGIN/c","cache":"reload"}"#, on: client)
    }
    stage.settle()
    #expect(stage.origin.running == 0)
    try stage.play(
      #"""
      > {"cmd":"list"}
      < {"ok":true,"jobs":[]}
      > {"cmd":"stats"}
      < {"ok":true,"downloads":{"active":0,"queued":0},"clients":{"connected":1}}
      """#)
  }
}

extension Array {
  func pick(_ noise: inout Noise) -> Element {
    self[Int(noise.next() % UInt64(count))]
  }
}
