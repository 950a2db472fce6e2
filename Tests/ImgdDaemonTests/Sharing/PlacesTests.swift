import ImgdTestSupport
import ImgdTransfer
import ImgdWire
import Testing

/// The number of simultaneous transfers, as the transfer side sees it.
struct PlacesTests {
  /// Each URL has a gate of its own. After each answer and each cancel there must be no more
  /// transfers than may run.
  @Test(arguments: [(1, 1), (3, 2), (4, 3)] as [(Int, UInt64)])
  func `at most MaxActive run, whatever is cancelled or fails`(
    places: Int, seed: UInt64
  ) throws {
    var noise = Noise(seed: seed)
    let stage = try CoreStage(
      "Downloads.MaxActive=\(places)", "Downloads.MaxPerHost=\(places)")
    let numbers = 0..<60
    let gates = numbers.map { _ in Gate() }
    for (number, gate) in gates.enumerated() {
      let answers: [OriginAnswer] = [
        .picture(png()), .status(500), .fails(.truncated), .picture(Array("no".utf8)),
        .fails(.connect),
      ]
      stage.origin.plan("/\(number)", .held(at: gate, then: answers.pick(&noise)))
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)","tags":["\#(number)"],"deliver":"none"}"#
      )
    }
    var cancelled = 0
    for number in numbers {
      if noise.next() % 3 == 0 {
        cancelled += 1
        try stage.client.send(#"{"cmd":"cancel","id":"c","tag":"\#(number)"}"#)
        let lines = try stage.client.receive(2)
        #expect(lines[0]["id"] == .integer(Int64(number)))
        #expect(lines[1]["cancelled"] == .integer(1))
      } else {
        #expect(gates[number].arrivals == 1)
        gates[number].open()
        let line = try stage.client.receive()
        #expect(line["id"] == .integer(Int64(number)), "\(line.text)")
      }
      // One that ended made room for one more, and no more than that.
      #expect(stage.origin.requests.count <= number + 1 + places)
      #expect(stage.origin.running <= places)
      #expect(try stage.stats("downloads", "active") <= places)
    }
    for gate in gates { gate.open() }
    #expect(try stage.stats("downloads", "peak_active") <= places)
    #expect(try stage.stats("downloads", "active") == 0)
    #expect(cancelled > 0)
  }

  @Test func `a smaller MaxActive lets running fetches finish and starts no more`() throws {
    let stage = try CoreStage("Downloads.MaxActive=3")
    let gates = (0..<5).map { _ in Gate() }
    for (number, gate) in gates.enumerated() {
      stage.origin.plan("/\(number)", .held(at: gate, then: .picture(png())))
      try stage.begin(#"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)"}"#)
    }
    #expect(gates[2].arrivals == 1)
    try stage.apply("Downloads.MaxActive=1")
    for number in 0..<5 {
      #expect(gates[number].arrivals == 1)
      #expect(try stage.stats("downloads", "active") == max(3 - number, 1))
      gates[number].open()
      try stage.play(#"< {"id":\#(number),"ok":true}"#)
    }
  }
}
