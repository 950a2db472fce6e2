import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

struct ReplyReaderTests {
  /// The replies in some bytes that come in pieces.
  private func read(
    _ pieces: [ArraySlice<UInt8>], most: Int = 1 << 20, asValues: Bool = false
  ) throws(ReplyReader.Problem) -> [RedisReply] {
    var reader = ReplyReader()
    var replies: [RedisReply] = []
    for piece in pieces {
      let bytes = Array(piece)
      var start = 0
      while let reply = try reader.next(
        in: bytes.span, from: &start, most: most, asValue: asValues)
      {
        replies.append(reply)
      }
    }
    return replies
  }

  private func read(_ text: String, most: Int = 1 << 20) throws(ReplyReader.Problem) -> [RedisReply] {
    try read([Array(text.utf8)[...]], most: most)
  }

  private static let stream =
    "+OK\r\n-ERR no\r\n:-9223372036854775808\r\n$-1\r\n*-1\r\n$0\r\n\r\n$4\r\na\r\nb\r\n*0\r\n"
    + "*3\r\n:0\r\n*2\r\n$1\r\nx\r\n*1\r\n+y\r\n$-1\r\n+\r\n:9223372036854775807\r\n"

  private static let replies: [RedisReply] = [
    .word("OK"), .failure("ERR no"), .number(.min), .nothing, .nothing, .bytes([]),
    .bytes(Array("a\r\nb".utf8)), .list([]),
    .list([.number(0), .list([.bytes([120]), .list([.word("y")])]), .nothing]), .word(""),
    .number(.max),
  ]

  @Test func `replies are the same wherever they are cut`() throws {
    let bytes = Array(Self.stream.utf8)
    for first in 0...bytes.count {
      for second in stride(from: first, through: bytes.count, by: 7) {
        let pieces = [bytes[..<first], bytes[first..<second], bytes[second...]]
        #expect(try read(pieces) == Self.replies)
      }
    }
    #expect(try read(bytes.indices.map { bytes[$0...$0] }) == Self.replies)
  }

  @Test(arguments: [
    "?\r\n", "\r\n", "_\r\n", "#t\r\n", "%1\r\n", "$x\r\n", "$\r\n", "$-2\r\n", "$+1\r\na\r\n",
    "$1\r\nab\r\n", "$1\r\na\n", "$0\r\na\r\n", ":\r\n", ":-\r\n", ":+1\r\n", ": 1\r\n", ":1 \r\n",
    ":9223372036854775808\r\n", "*x\r\n", "*-2\r\n", "*1025\r\n", "*9223372036854775807\r\n",
    "$9223372036854775807\r\n", "$1048577\r\n", "+a\n", "+a\rb\r\n", "+\n",
    String(repeating: "*1\r\n", count: 8), "+" + String(repeating: "a", count: 20_000),
  ])
  func `what no server says is a problem`(text: String) {
    #expect(throws: ReplyReader.Problem.self) { try read(text) }
    let bytes = Array(text.utf8)
    #expect(throws: ReplyReader.Problem.self) { try read(bytes.indices.map { bytes[$0...$0] }) }
  }

  @Test func `lists go as deep as seven`() throws {
    var wanted = RedisReply.list([.number(1)])
    for _ in 0..<6 { wanted = .list([wanted]) }
    #expect(try read(String(repeating: "*1\r\n", count: 7) + ":1\r\n") == [wanted])
  }

  @Test func `a reply has no more than its bytes, however they are spread`() throws {
    let list = "*3\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n"
    #expect(try read(list + list, most: list.utf8.count).count == 2)
    #expect(throws: ReplyReader.Problem.self) { try read(list, most: list.utf8.count - 3) }
    #expect(throws: ReplyReader.Problem.self) { try read("$101\r\n", most: 100) }
  }

  @Test func `a failure is cut, and has no control characters`() throws {
    let text = try read("-ERR \u{1b}[1m" + String(repeating: "a", count: 5_000) + "\r\n")
    guard case .failure(let said) = text.first else { throw TestFailure("no failure") }
    #expect(said.count < 400 && !said.contains("\u{1b}"))
  }

  @Test func `a long string is a value where one is asked for, and only there`() throws {
    let picture = TestedPicture(count: 40_000)
    let bytes = try #require(picture.value().bytes)
    let text = Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
    let replies = try read([text[...7], text[8..<9_000], text[9_000...]], asValues: true)
    guard case .value(let value)? = replies.first else { throw TestFailure("no value") }
    #expect(value.count == bytes.count && value.payload?.bytes == picture.payload.bytes)
    #expect(try FleetValue.decode(value, under: picture.digest).get().record == picture.record)
    #expect(try read([text[...]]) == [.bytes(bytes)])
    #expect(try read([Array("*1\r\n".utf8) + text[...]], asValues: true) == [.list([.bytes(bytes)])])
  }

  /// What is no whole value is not worth the memory.
  @Test func `of a long string that is no value only the first bytes are kept`() throws {
    let text = Array("$100000\r\n".utf8) + [UInt8](repeating: 7, count: 100_000) + [13, 10]
    guard case .value(let value)? = try read([text[...]], asValues: true).first else {
      throw TestFailure("no value")
    }
    #expect(value.count == 100_000 && value.payload == nil)
    #expect(value.front == [UInt8](repeating: 7, count: FleetValue.headLength))
  }

  // MARK: Made at random

  private func anything(_ random: inout SeededGenerator, depth: Int = 0) -> RedisReply {
    switch Int.random(in: 0..<(depth < 6 ? 7 : 5), using: &random) {
    case 0: .word(String(repeating: "w", count: Int.random(in: 0..<9, using: &random)))
    case 1: .number(Int64.random(in: .min ... .max, using: &random))
    case 2: .nothing
    case 3: .failure("ERR \(Int.random(in: 0..<99, using: &random))")
    case 4:
      .bytes(
        (0..<Int.random(in: 0..<40, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        })
    default:
      .list(
        (0..<Int.random(in: 0..<5, using: &random)).map { _ in
          anything(&random, depth: depth + 1)
        })
    }
  }

  private func encode(_ reply: RedisReply) -> [UInt8] {
    switch reply {
    case .word(let text): Array("+\(text)\r\n".utf8)
    case .number(let number): Array(":\(number)\r\n".utf8)
    case .failure(let text): Array("-\(text)\r\n".utf8)
    case .bytes(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + [13, 10]
    case .list(let parts): Array("*\(parts.count)\r\n".utf8) + parts.flatMap(encode)
    default: Array("$-1\r\n".utf8)
    }
  }

  private func cut(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Int.random(in: 1...rest.count, using: &random)
      pieces.append(rest.prefix(count))
      rest = rest.dropFirst(count)
    }
    return pieces
  }

  @Test func `what was written is read`() throws {
    var random = SeededGenerator(seed: 49)
    for _ in 0..<500 {
      let replies = (0..<5).map { _ in anything(&random) }
      #expect(try read(cut(replies.flatMap(encode), &random)) == replies)
    }
  }

  /// Bytes of what replies consist of: any other would end the reading at once.
  @Test func `no bytes do harm, and how they are cut changes nothing`() {
    var random = SeededGenerator(seed: 50)
    let letters = Array("+-:$*\r\n\r\n\r\n01234a".utf8)
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
        letters.randomElement(using: &random) ?? 0
      }
      let pieces = cut(bytes, &random)
      let whole = Result { () throws(ReplyReader.Problem) in try read([bytes[...]], most: 50) }
      #expect(whole == Result { () throws(ReplyReader.Problem) in try read(pieces, most: 50) })
    }
  }
}
