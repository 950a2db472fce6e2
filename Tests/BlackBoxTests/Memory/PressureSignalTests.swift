import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@Suite struct PressureSignalTests {
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
    try stage.play(
      #"""
      < {"event":"cache","what":"removed_all","entries":2,"bytes":\#(bytes),"seq":1}
      < {"event":"pressure","source":"signal","removed_entries":2,"removed_bytes":\#(bytes),"seq":2}
      """#, on: listener)
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"memory":{"entries":0,"bytes":0,"capacity":52428800},"pressure":{"events":1,"last":"…","removed_bytes":\#(bytes)}}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"network"}
      """#)
  }
}
