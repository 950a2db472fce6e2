import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct StreamSocketTests {
  let scratch = ReadScratch(capacity: 16)

  private func read(_ pair: SocketPair) -> String {
    switch pair.near.read(into: scratch) {
    case .bytes(let count): scratch.withBytes(count) { text($0) }
    case let other: "\(other)"
    }
  }

  private func text(_ bytes: Span<UInt8>) -> String {
    String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
  }

  @Test func `a stream socket reads available bytes and never waits`() throws {
    let pair = try SocketPair()
    #expect(read(pair) == "nothing")
    pair.poke("hello")
    #expect(read(pair) == "hello")
    pair.poke("sixteen bytes it is, and then the rest")
    #expect(read(pair) == "sixteen bytes it")
    #expect(read(pair) == " is, and then th")
    #expect(read(pair) == "e rest")
    #expect(read(pair) == "nothing")
  }

  @Test func `a stream socket reads to the end`() throws {
    let pair = try SocketPair()
    pair.poke("last")
    shutdown(pair.far, CInt(SHUT_WR))
    #expect(read(pair) == "last")
    #expect(read(pair) == "end")
    #expect(pair.near.send(Array("still open".utf8), in: 0..<5, with: nil) == 5)
    #expect(pair.drain() == Array("still".utf8))
  }

  @Test func `a stream socket notices a peer that did not read everything`() throws {
    let pair = try SocketPair()
    #expect(pair.near.send([1, 2, 3], in: 0..<3, with: nil) == 3)
    pair.closeFar()
    #expect(read(pair) == "broken")
    #expect(pair.near.send([1], in: 0..<1, with: nil) == -1, "and no SIGPIPE")
  }

  @Test func `descriptors that the peer sends are closed`() async {
    await #expect(processExitsWith: .success) {
      let pair = try SocketPair()
      let scratch = ReadScratch()
      let zero = open("/dev/zero", O_RDONLY)
      for _ in 0..<200 {
        try #require(send([42], with: [zero, zero, zero], to: pair.far) == 1)
        try #require(pair.near.read(into: scratch) == .bytes(1))
      }
      try #require(openDescriptors(of: "/dev/zero") == 1)
    }
  }

  @Test func `descriptors that are received come with their bytes, at most two`() async {
    await #expect(processExitsWith: .success) {
      let pair = try SocketPair()
      let scratch = ReadScratch()
      let zero = open("/dev/zero", O_RDONLY)
      for count in 0..<5 {
        if count == 0 {
          pair.poke("*")
        } else {
          try #require(send([42], with: [CInt](repeating: zero, count: count), to: pair.far) == 1)
        }
        try #require(pair.near.receive(into: scratch) == .bytes(1))
        try #require(scratch.hasDescriptors == (count > 0))
        let files = scratch.takeDescriptors()
        try #require(files.count == min(count, 2))
        for file in files { file.close() }
        try #require(!scratch.hasDescriptors && scratch.takeDescriptors().isEmpty)
        try #require(openDescriptors(of: "/dev/zero") == 1)
      }
    }
  }

  @Test func `a stream socket knows its peer`() throws {
    let peer = try PeerCredentials(of: try SocketPair().near)
    #expect(peer.pid == getpid())
    #expect(peer.uid == getuid())
    #expect(peer.gid == getgid())
  }

  @Test func `a file has no peer`() throws {
    let file = StreamSocket(FileDescriptor(owning: open("/dev/null", O_RDONLY)))
    let failure = #expect(throws: SystemFailure.self) { try PeerCredentials(of: file) }
    #expect(failure?.errno == ENOTSOCK)
  }
}
