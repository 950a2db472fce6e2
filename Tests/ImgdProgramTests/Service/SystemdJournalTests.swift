import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdProgram

/// The datagrams that libsystemd sends to the journal. Its path is fixed, so that only root can take
/// its place.
@Suite(.enabled(if: geteuid() == 0, "only root may cover /run")) struct SystemdJournalTests {
  /// The peer's own descriptor stands for a standard error that the journal reads.
  private static func journal(at peer: DatagramPeer) throws -> SystemdJournal {
    let stream = JournalStream(of: peer.number)
    return try #require(SystemdJournal(stream: stream, standardError: peer.number))
  }

  /// An entry's fields, read as the journal does; nil when it is malformed.
  private static func fields(_ entry: [UInt8]) -> [[String]]? {
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

  @Test func `fields arrive as they were sent`() async {
    await #expect(processExitsWith: .success) {
      let peer = try makeJournal()
      let journal = try SystemdJournalTests.journal(at: peer)
      let sent = [
        ("MESSAGE", "hello"), ("PRIORITY", "5"), ("SYSLOG_IDENTIFIER", "imgd"),
        ("IMGD_EVENT", "a=b"),
      ]
      #expect(journal.send(sent))
      let entry = "MESSAGE=hello\nPRIORITY=5\nSYSLOG_IDENTIFIER=imgd\nIMGD_EVENT=a=b\n"
      #expect(peer.drain().map(\.text) == [entry])
    }
  }

  @Test func `a value cannot add another field`() async {
    await #expect(processExitsWith: .success) {
      let peer = try makeJournal()
      let journal = try SystemdJournalTests.journal(at: peer)
      let values = [
        "", "\n", "\nPRIORITY=0", "a\nPRIORITY=0\n", "\r\nPRIORITY=0", "\0", "=", "ü\u{2028}x",
        String(repeating: "x\n", count: 300), "\n\n\n\u{3}\0\0\0\0\0\0\0",
      ]
      for value in values {
        let wanted = [("MESSAGE", value), ("SYSLOG_IDENTIFIER", "imgd"), ("IMGD_EVENT", value)]
        #expect(journal.send(wanted))
        let entry = try #require(peer.receive(within: 0))
        // By their bytes: Swift sees some strings as equal that are not.
        let bytes = SystemdJournalTests.fields(entry.bytes)?.joined().map { Array($0.utf8) }
        #expect(bytes == wanted.flatMap { [Array($0.0.utf8), Array($0.1.utf8)] })
      }
    }
  }

  @Test func `an entry beyond a datagram goes as a sealed file`() async {
    await #expect(processExitsWith: .success) {
      let peer = try makeJournal()
      let value = String(repeating: "0123456789", count: 1_000_000)
      let journal = try SystemdJournalTests.journal(at: peer)
      #expect(journal.send([("MESSAGE", value), ("SYSLOG_IDENTIFIER", "imgd")]))
      let message = try #require(peer.receive(within: 0))
      #expect(message.bytes.isEmpty)
      let file = try #require(message.descriptors.first)
      #expect(fcntl(file, 1034) == 0xf, "sealed against all that could change it")  // F_GET_SEALS
      var bytes = [UInt8](repeating: 0, count: value.utf8.count + 1_000)
      let count = pread(file, &bytes, bytes.count, 0)
      let fields = SystemdJournalTests.fields(Array(bytes.prefix(max(count, 0))))
      #expect(fields == [["MESSAGE", value], ["SYSLOG_IDENTIFIER", "imgd"]])
    }
  }

  @Test func `a standard error that is not the journal's is left alone`() throws {
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let stream = try #require(JournalStream(of: ends[0]))
    #expect(SystemdJournal(stream: stream, standardError: ends[0]) != nil)
    #expect(SystemdJournal(stream: nil, standardError: ends[0]) == nil)
    #expect(SystemdJournal(stream: stream, standardError: -1) == nil)
    let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(null) }
    #expect(SystemdJournal(stream: stream, standardError: null) == nil)
    let other = JournalStream(text: "\(stream.device):\(stream.inode + 1)")
    #expect(SystemdJournal(stream: other, standardError: ends[0]) == nil)
  }

  // MARK: A journal that is busy

  @Test func `a journal that reads nothing delays neither the loop nor the end`() async {
    await #expect(processExitsWith: .success) {
      let peer = try makeJournal()
      try peer.fillQueue()
      let loop = try EventLoop()
      let writer = try LogWriter(.journal(try SystemdJournalTests.journal(at: peer)), on: loop)
      for number in 0..<1_000 {
        writer.write(LogEntry(priority: .notice, message: "\(number)", fields: []))
        loop.settle()
      }
      writer.finish(within: .milliseconds(10))

      var messages: [String] = []
      while messages.last?.hasPrefix("entries left out") != true, let entry = peer.receive() {
        guard entry.text != "busy" else { continue }
        messages += SystemdJournalTests.fields(entry.bytes)?.map { $0[1] }.prefix(1) ?? []
      }
      let kept = (0..<LogWriter.limit).map { "\($0)" }
      let lost = 1_000 - LogWriter.limit
      let loss = "entries left out because they were not read in time: \(lost)"
      #expect(messages == kept + [loss])
    }
  }

  @Test func `lost entries are counted when the journal reads again`() async {
    await #expect(processExitsWith: .success) {
      let peer = try makeJournal()
      try peer.fillQueue()
      let loop = try EventLoop()
      let writer = try LogWriter(.journal(try SystemdJournalTests.journal(at: peer)), on: loop)
      for number in 0...LogWriter.limit {
        writer.write(LogEntry(priority: .notice, message: "\(number)", fields: []))
      }
      var texts: [String] = []
      while texts.last?.hasPrefix("MESSAGE=entries left out") != true {
        loop.settle()
        let entry = try #require(peer.receive())
        if entry.text != "busy" { texts.append(entry.text) }
      }
      #expect(texts.last?.contains("in time: 1\n") == true)
      writer.write(LogEntry(priority: .notice, message: "after", fields: []))
      writer.finish(within: Patience.limit)
      #expect(peer.receive(within: 0)?.text.hasPrefix("MESSAGE=after\n") == true)
    }
  }
}
