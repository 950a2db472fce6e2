import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

struct PressureSignalTests {
  @Test func `memory is freed on a signal, and the relief is reported`() throws {
    let stage = try Stage("Disk.Enabled=no")
    stage.origin.plan("/a", .picture(png(9_000)))
    stage.origin.plan("/b", .picture(png(9_000)))
    try stage.fetch("/a")
    try stage.fetch("/b")
    let bytes = try stage.stats("memory", "bytes")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["pressure","cache"]}
      < {"id":1,"ok":true}
      """#, on: listener)
    stage.daemon.signal(SIGUSR1)
    let events = try listener.receive(2)
    #expect(events[0]["what"] == "removed_all")
    #expect(events[1]["event"] == "pressure")
    #expect(events[1]["source"] == "signal")
    for (event, (entries, freed)) in zip(
      events, [("entries", "bytes"), ("removed_entries", "removed_bytes")])
    {
      #expect(event[entries]?.integer == 2)
      #expect(event[freed]?.integer == Int64(bytes))
    }
    #expect(try stage.stats("memory", "entries") == 0)
    #expect(try stage.stats("memory", "bytes") == 0)
    #expect(try stage.stats("pressure", "events") == 1)
    #expect(try stage.stats("pressure", "removed_bytes") == bytes)
    #expect(try stage.fetch("/a")["source"] == "network")
  }
}
