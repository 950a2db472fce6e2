import Glibc
import Testing

@testable import ImgdSystem

struct SignalWatchTests {
  @Test func `signals are events of the loop`() async {
    await #expect(processExitsWith: .success) {
      SignalWatch.block([SIGUSR1, SIGUSR2])
      let loop = try EventLoop()
      var seen: [CInt] = []
      var signals: SignalWatch? = try SignalWatch([SIGUSR1, SIGUSR2], on: loop) { seen.append($0) }
      raise(SIGUSR2)
      raise(SIGUSR1)
      loop.settle()
      try #require(seen == [SIGUSR1, SIGUSR2])
      let home = pthread_self()
      let thread = try Thread(name: "stranger") { pthread_kill(home, SIGUSR1) }
      loop.tick(waiting: true)
      thread.join()
      try #require(seen == [SIGUSR1, SIGUSR2, SIGUSR1])
      let before = openDescriptors(of: "anon_inode:[signalfd]")
      signals = nil
      try #require(openDescriptors(of: "anon_inode:[signalfd]") == before - 1)
      raise(SIGUSR1)
      loop.settle()
      try #require(seen.count == 3 && signals == nil)
    }
  }
}
