import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Decoders that stand still in the middle of their work, as one does over a picture that takes very long.
struct StoppedDecoderTests {
  private func picture(_ seed: UInt64) -> [UInt8] {
    TestPicture.png(width: 100, height: 80, seed: seed)
  }

  /// A stage whose decoders have been started, and stopped.
  private func stage(_ settings: String...) throws -> Stage {
    let stage = try Stage("Decode.Workers=2", settings[0])
    // A picture that comes late is made by the decoder that has made the first.
    for round in 0..<50 where stage.daemon.decoders.count < 2 {
      for number in [2 * round, 2 * round + 1] {
        stage.offer(picture(UInt64(1_000 + number)), at: "/started/\(number)")
        try stage.client.send(fetch("/started/\(number)", id: number, stage))
      }
      for _ in 0..<2 { #expect(try stage.client.receive()["ok"] == true) }
    }
    #expect(stage.daemon.decoders.map(\.niceness) == [10, 10])
    while let descriptor = stage.client.takeDescriptor() { close(descriptor) }
    stage.daemon.signalDecoders(SIGSTOP)
    return stage
  }

  private func fetch(_ path: String, id: Int, _ stage: Stage) -> String {
    #"{"cmd":"fetch","id":\#(id),"url":"\#(stage.base)\#(path)","deliver":"pixels"}"#
  }

  @Test func `pictures that take very long hold up nobody else`() throws {
    let stage = try stage("Decode.Timeout=10min")
    defer { stage.daemon.signalDecoders(SIGCONT) }
    for number in 0..<6 {
      stage.offer(picture(UInt64(10 + number)), at: "/slow/\(number)")
      try stage.begin(fetch("/slow/\(number)", id: number, stage))
    }
    let witness = try Witness(stage.daemon)
    #expect(try becomes { try witness.count("decode", "active") > 0 })
    #expect(
      try becomes {
        try witness.count("decode", "active") + witness.count("decode", "queued") == 6
      })
    let other = try stage.connect()
    stage.offer(picture(99), at: "/plain")
    for number in 0..<500 {
      let line = try stage.ask("/plain", #""deliver":"none""#, on: other)
      #expect(line["source"]?.string == (number == 0 ? "network" : "memory"))
    }
    stage.offer(picture(98), at: "/another")
    #expect(try stage.ask("/another", on: other)["source"]?.string == "network")
    // What has been made is there without a decoder.
    #expect(
      try stage.ask("/started/0", #""deliver":"pixels""#, on: other)["source"]?.string == "memory")
    #expect(try stage.client.receiveNow() == nil)
    stage.daemon.signalDecoders(SIGCONT)
    let answers = try stage.client.receive(6)
    #expect(answers.allSatisfy { $0["ok"] == true })
    #expect(Set(answers.map { $0["id"]?.integer }) == Set((0..<6).map(Int64.init)))
  }

  @Test func `shares of a connection take turns at the only decoder`() throws {
    let stage = try Stage("Decode.Workers=1", "Decode.Timeout=10min")
    stage.offer(picture(0), at: "/started")
    #expect(try stage.ask("/started", #""resize":{"width":20}"#)["ok"] == true)
    stage.daemon.signalDecoders(SIGSTOP)
    defer { stage.daemon.signalDecoders(SIGCONT) }
    func begin(_ number: Int, share: String) throws {
      stage.offer(picture(UInt64(number)), at: "/\(number)")
      try stage.begin(
        #"{"cmd":"fetch","id":\#(number),"url":"ORIGIN/\#(number)","resize":{"width":20},"share":"\#(share)"}"#
      )
    }
    let witness = try Witness(stage.daemon)
    for number in 1...4 { try begin(number, share: "a") }
    #expect(try becomes { try witness.count("decode", "queued") == 3 })
    try begin(5, share: "b")
    #expect(try becomes { try witness.count("decode", "queued") == 4 })
    stage.daemon.signalDecoders(SIGCONT)
    #expect(try stage.client.receive(5)[1]["id"]?.integer == 5)
  }

  /// In three seconds a busy machine makes the other pictures.
  @Test func `a decoder that takes too long is ended, and its picture is told`() throws {
    let stage = try stage("Decode.Timeout=3s")
    stage.offer(picture(10), at: "/slow")
    let line = try stage.ask("/slow", #""deliver":"pixels""#)
    #expect(line.failureCode == "timeout")
    #expect(line["error"]?["details"] == ["phase": "decode", "limit_ms": 3_000])
    #expect(try stage.stats("decode", "killed") == 1)
    // The one that stands still still takes the next one, and ends with it.
    stage.offer(picture(11), at: "/next")
    _ = try stage.ask("/next", #""deliver":"pixels""#)
    stage.daemon.signalDecoders(SIGCONT)
    stage.offer(picture(12), at: "/last")
    #expect(try stage.ask("/last", #""deliver":"pixels""#)["ok"] == true)
    #expect(try becomes { !stage.daemon.decoders.contains(where: \.isZombie) })
  }

  @Test func `a daemon that stops does not wait for decoders, and leaves none behind`() throws {
    let stage = try stage("Decode.Timeout=10min")
    let decoders = stage.daemon.decoders.map(\.pid)
    #expect(!decoders.isEmpty)
    stage.offer(picture(10), at: "/slow")
    try stage.begin(fetch("/slow", id: 7, stage))
    #expect(stage.daemon.stop() == 0)
    #expect(try stage.client.receive()["id"]?.integer == 7)
    for decoder in decoders { #expect(kill(decoder, 0) < 0) }
  }

  @Test func `decoders end with a daemon that is killed`() throws {
    let stage = try stage("Decode.Timeout=10min")
    let decoders = stage.daemon.decoders.map(\.pid)
    #expect(!decoders.isEmpty)
    stage.daemon.kill()
    // They are somebody else's children now, who may take a moment to take note of their end.
    #expect(try becomes { !decoders.contains(where: isAlive) })
  }

  private func isAlive(_ pid: pid_t) -> Bool { ![nil, "Z"].contains(ChildProcess.state(of: pid)) }
}
