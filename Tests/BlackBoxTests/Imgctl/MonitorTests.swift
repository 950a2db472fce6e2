import Glibc
import ImgdTestSupport
import Testing

/// `imgctl monitor`, which shows events as they happen.
struct MonitorTests {
  private let cache: FilledCache

  init() throws {
    cache = try FilledCache()
  }

  @Test func `events are shown as they happen, to the end of the daemon`() throws {
    let (pid, output) = try cache.start("monitor", "jobs", "cache")
    try cache.wait(for: "connected to", in: output)
    cache.stage.origin.plan("/new.png", .picture(TestPicture.png(bytes: 3_000, seed: 9)))
    try cache.stage.fetch("/new.png")
    try cache.wait(for: "job       done", in: output)
    #expect(cache.stage.daemon.stop() == 0)
    #expect(ChildProcess.wait(pid) == 3)
    let text = try #require(read(output))
    #expect(text.contains("  job       running    \(cache.stage.origin.url("/new.png"))\n"))
    #expect(text.contains("  cache     stored     memory: 1 entry, "))
    #expect(text.hasSuffix("imgctl: imgd at \(cache.stage.daemon.socket) has ended\n"))
  }

  @Test func `Control-C ends a monitor`() throws {
    let (pid, output) = try cache.start("monitor")
    try cache.wait(for: "connected to", in: output)
    kill(pid, SIGINT)
    #expect(ChildProcess.wait(pid) == 130)
  }
}
