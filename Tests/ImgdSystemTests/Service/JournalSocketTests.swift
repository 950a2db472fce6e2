import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

@Suite struct JournalSocketTests {
  private let directory = TemporaryDirectory()
  private let path: String
  private let peer: DatagramPeer

  init() throws {
    path = directory.path + "/journal"
    peer = try DatagramPeer(path)
  }

  /// The peer's own descriptor stands for a standard error that the journal reads.
  private func journal() throws -> JournalSocket {
    let socket = JournalSocket(
      stream: JournalStream(of: peer.number), path: path, standardError: peer.number)
    return try #require(socket)
  }

  /// An entry's fields, read as the journal does; nil when it is not well formed.
  private func fields(_ entry: [UInt8]) -> [[String]]? {
    var fields: [[String]] = []
    var rest = entry[...]
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == 10 }) {
      let name = String(decoding: rest[..<end], as: UTF8.self)
      let isLong = rest[end] == 10
      rest = rest[(end + 1)...]
      var count = rest.firstIndex(of: 10).map { $0 - rest.startIndex } ?? -1
      if isLong {
        guard rest.count >= 8 else { return nil }
        count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(8)
      }
      guard count >= 0, count < rest.count, rest.dropFirst(count).first == 10 else { return nil }
      fields.append([name, String(decoding: rest.prefix(count), as: UTF8.self)])
      rest = rest.dropFirst(count + 1)
    }
    return rest.isEmpty ? fields : nil
  }

  @Test func `fields arrive as they were sent`() throws {
    #expect(try journal().send([("MESSAGE", "hello"), ("PRIORITY", "5"), ("IMGD_EVENT", "a=b")]))
    #expect(peer.drain().map(\.text) == ["MESSAGE=hello\nPRIORITY=5\nIMGD_EVENT=a=b\n"])
  }

  @Test func `a value of several lines goes by its length`() throws {
    #expect(try journal().send([("MESSAGE", "a\nb"), ("PRIORITY", "3")]))
    let length: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0]
    let entry = Array("MESSAGE\n".utf8) + length + Array("a\nb\nPRIORITY=3\n".utf8)
    #expect(peer.drain().map(\.bytes) == [entry])
  }

  @Test(arguments: [
    "", "\n", "\nPRIORITY=0", "a\nPRIORITY=0\n", "\r\nPRIORITY=0", "\0", "=", "ü\u{2028}x",
    String(repeating: "x\n", count: 300), "\n\n\n\u{3}\0\0\0\0\0\0\0",
  ])
  func `no value passes for another field`(value: String) throws {
    #expect(try journal().send([("MESSAGE", value), ("PRIORITY", "5"), ("IMGD_EVENT", value)]))
    let entry = try #require(peer.receive(within: 0))
    let wanted = [["MESSAGE", value], ["PRIORITY", "5"], ["IMGD_EVENT", value]]
    // By their bytes: Swift sees some strings as equal that are not.
    #expect(
      fields(entry.bytes)?.joined().map { Array($0.utf8) } == wanted.joined().map { Array($0.utf8) }
    )
  }

  @Test func `an entry beyond a datagram goes as a sealed file`() throws {
    let value = String(repeating: "0123456789", count: 100_000)
    #expect(try journal().send([("MESSAGE", value), ("PRIORITY", "4")]))
    let message = try #require(peer.receive(within: 0))
    #expect(message.bytes.isEmpty)
    #expect(message.descriptors.count == 1)
    let file = try #require(message.descriptors.first)
    #expect(fcntl(file, 1034) == 0xf, "sealed against all that could change it")  // F_GET_SEALS
    var bytes = [UInt8](repeating: 0, count: value.utf8.count + 1_000)
    let count = pread(file, &bytes, bytes.count, 0)
    #expect(
      fields(Array(bytes.prefix(max(count, 0)))) == [["MESSAGE", value], ["PRIORITY", "4"]])
  }

  /// About as much as a datagram takes, which is the machine's to say.
  private static let room: Int = {
    let number = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(number) }
    var (room, size) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
    getsockopt(number, SOL_SOCKET, SO_SNDBUF, &room, &size)
    return Int(room)
  }()

  @Test func `nothing is lost where a datagram takes no more`() throws {
    let journal = try journal()
    var ways: Set<Bool> = []
    for size in stride(from: Self.room - 1_200, through: Self.room + 400, by: 100) {
      let value = String(repeating: "x", count: size)
      #expect(journal.send([("MESSAGE", value)]))
      let messages = peer.drain()
      #expect(messages.count == 1)
      let isDirect = messages.first?.descriptors.isEmpty == true
      if isDirect { #expect(messages.first.flatMap { fields($0.bytes) } == [["MESSAGE", value]]) }
      ways.insert(isDirect)
    }
    #expect(ways == [true, false], "both ways were taken")
  }

  @Test func `no descriptor is left behind`() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      let peer = try DatagramPeer(directory.path + "/journal")
      let journal = try #require(
        JournalSocket(
          stream: JournalStream(of: peer.number), path: directory.path + "/journal",
          standardError: peer.number))
      for _ in 0..<20 {
        precondition(journal.send([("MESSAGE", String(repeating: "x", count: 1 << 19))]))
        _ = peer.drain()
        peer.letGo()
      }
      precondition(openDescriptors(of: "/memfd:") == 0)
    }
  }

  @Test func `a standard error that is not the journal's is left alone`() throws {
    let stream = try #require(JournalStream(of: peer.number))
    #expect(JournalSocket(stream: nil, path: path, standardError: peer.number) == nil)
    #expect(JournalSocket(stream: stream, path: path, standardError: -1) == nil)
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(null) }
    #expect(JournalSocket(stream: stream, path: path, standardError: null) == nil)
    let other = JournalStream(text: "\(stream.device):\(stream.inode + 1)")
    #expect(JournalSocket(stream: other, path: path, standardError: peer.number) == nil)
  }

  @Test func `an entry that nobody takes is not sent`() throws {
    let journal = try journal()
    unlink(path)
    #expect(!journal.send([("MESSAGE", "hello")]))
    #expect(!journal.send([("MESSAGE", String(repeating: "x", count: 1 << 20))]))
  }

  @Test func `a journal that is busy holds nobody up`() throws {
    let journal = try journal()
    var sent = 0
    while sent < 5_000, journal.send([("MESSAGE", "hello")]) { sent += 1 }
    #expect(sent > 0 && sent < 5_000)
    #expect(peer.drain().count == sent)
    #expect(journal.send([("MESSAGE", "again")]))
  }
}
