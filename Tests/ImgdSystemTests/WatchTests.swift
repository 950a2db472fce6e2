import Glibc
import Testing

@testable import ImgdSystem

struct WatchTests {
  let loop: EventLoop

  init() throws {
    loop = try EventLoop()
  }

  @Test func `a watch gets the events that it asks for`() throws {
    let pair = try SocketPair()
    var heard: [Readiness] = []
    let watch = try loop.watch(pair.number, for: .read) { heard.append($0) }
    loop.tick(waiting: false)
    #expect(heard.isEmpty)
    pair.poke()
    loop.tick(waiting: false)
    watch.interest = .write
    loop.tick(waiting: false)
    watch.interest = [.read, .write]
    loop.tick(waiting: false)
    watch.interest = []
    loop.tick(waiting: false)
    #expect(heard == [.read, .write, [.read, .write]])
  }

  @Test func `a watch gets the peer's hangup without asking`() throws {
    let pair = try SocketPair()
    var heard: [Readiness] = []
    let watch = try loop.watch(pair.number, for: .read) { heard.append($0) }
    shutdown(pair.far, CInt(SHUT_WR))
    loop.tick(waiting: false)
    pair.closeFar()
    loop.tick(waiting: false)
    watch.interest = []
    loop.tick(waiting: false)
    #expect(heard == [[.read, .halfClosed], [.read, .halfClosed, .hangup], .hangup])
  }

  @Test func `a watch is silent once cancelled`() throws {
    let pair = try SocketPair()
    var heard = 0
    let watch = try loop.watch(pair.number, for: .read) { _ in heard += 1 }
    pair.poke()
    watch.cancel()
    watch.cancel()
    watch.interest = .write
    loop.settle()
    #expect(heard == 0)
  }

  @Test func `a watch may cancel itself in its handler`() throws {
    let pair = try SocketPair()
    var watches: [Watch] = []
    var heard = 0
    watches.append(
      try loop.watch(pair.number, for: .read) { _ in
        watches[0].cancel()
        heard += 1
      })
    pair.poke()
    loop.settle()
    #expect(heard == 1)
  }

  /// Both are ready in one batch; the first handler cancels the other watch.
  @Test func `a watch may cancel another that is ready in the same batch`() throws {
    let pairs = [try SocketPair(), try SocketPair()]
    var watches: [Watch] = []
    var heard = 0
    for index in 0...1 {
      watches.append(
        try loop.watch(pairs[index].number, for: .read) { _ in
          watches[1 - index].cancel()
          heard += 1
        })
    }
    for pair in pairs { pair.poke() }
    loop.tick(waiting: false)
    #expect(heard == 1)
  }

  @Test func `a changed interest applies to events that have arrived already`() throws {
    let pairs = [try SocketPair(), try SocketPair()]
    var watches: [Watch] = []
    var heard: [Readiness] = []
    for index in 0...1 {
      watches.append(
        try loop.watch(pairs[index].number, for: [.read, .write]) {
          watches[1 - index].interest = .write
          heard.append($0)
        })
    }
    for pair in pairs { pair.poke() }
    loop.tick(waiting: false)
    #expect(heard == [[.read, .write], .write])
  }

  /// The second event of the batch is for a descriptor that is in use again by then.
  @Test func `a watch gets no events of its successor on the same descriptor`() throws {
    let pairs = [try SocketPair(), try SocketPair()]
    let idle = try SocketPair()
    var watches: [Watch] = []
    var heard: [String] = []
    func replace(_ index: Int) throws {
      watches[index].cancel()
      dup2(idle.number, pairs[index].number)
      watches[index] = try loop.watch(pairs[index].number, for: .read) { _ in
        heard.append("successor")
      }
    }
    for index in 0...1 {
      watches.append(
        try loop.watch(pairs[index].number, for: .read) { _ in
          heard.append("first")
          #expect(throws: Never.self) { try replace(1 - index) }
        })
    }
    for pair in pairs { pair.poke() }
    loop.tick(waiting: false)
    #expect(heard == ["first"])
  }

  /// libcurl may close a socket before it reports that; its number may be watched again by then.
  @Test func `a late cancel does not affect the successor on the same descriptor`() throws {
    let pair = try SocketPair()
    let other = try SocketPair()
    var heard: [String] = []
    let old = try loop.watch(pair.number, for: .read) { _ in heard.append("old") }
    dup2(other.number, pair.number)
    let new = try loop.watch(pair.number, for: .read) { _ in heard.append("new") }
    old.interest = []
    old.cancel()
    other.poke()
    loop.tick(waiting: false)
    #expect(heard == ["new"])
    new.cancel()
  }

  @Test func `a descriptor that cannot be watched is a failure with its reason`() throws {
    for number: CInt in [-1, 1_000_000, .max, .min] {
      #expect(throws: SystemFailure.self) { try loop.watch(number, for: .read) { _ in } }
    }
    let pair = try SocketPair()
    var heard = 0
    let watch = try loop.watch(pair.number, for: .read) { _ in heard += 1 }
    let failure = #expect(throws: SystemFailure.self) {
      try loop.watch(pair.number, for: .read) { _ in }
    }
    #expect(failure?.errno == EEXIST)
    #expect(failure?.description == "epoll_ctl add descriptor \(pair.number): File exists")
    pair.poke()
    loop.tick(waiting: false)
    #expect(heard == 1, "the first watch is as it was")
    watch.cancel()
  }

  @Test func `a watch may outlive its loop`() throws {
    let pair = try SocketPair()
    var loop: EventLoop? = try EventLoop()
    let watch = try loop?.watch(pair.number, for: .read) { _ in }
    let timer = loop?.schedule(after: .seconds(1)) {}
    loop = nil
    watch?.interest = .write
    watch?.cancel()
    timer?.cancel()
  }

  @Test func `a cancelled watch may free a capture that cancels it again`() throws {
    final class Session {
      var watch: Watch?
      var ended: () -> Void = {}
      deinit {
        watch?.cancel()
        ended()
      }
    }
    let pair = try SocketPair()
    var ends = 0
    func open() throws -> Watch {
      let session = Session()
      session.ended = { ends += 1 }
      let watch = try loop.watch(pair.number, for: .read) { [session] _ in _ = session }
      session.watch = watch
      return watch
    }
    try open().cancel()
    #expect(ends == 1)
  }

  @Test func `every ready descriptor is served in one round of batches`() throws {
    let pairs = try (0..<600).map { _ in try SocketPair() }
    var counts = [Int](repeating: 0, count: pairs.count)
    let watches = try pairs.indices.map { index in
      try loop.watch(pairs[index].number, for: .read) { _ in counts[index] += 1 }
    }
    for pair in pairs { pair.poke() }
    for _ in 0..<3 { loop.tick(waiting: false) }
    #expect(counts.allSatisfy { $0 >= 1 }, "a busy descriptor starves no other")
    for watch in watches { watch.cancel() }
  }
}
