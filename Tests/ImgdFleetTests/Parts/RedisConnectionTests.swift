import Glibc
import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

/// A connection to a server that says whatever the test says.
private final class HostileServer {
  let loop: EventLoop
  let connection: RedisConnection
  private let directory = TemporaryDirectory()
  private let listener: UnixListener
  private let peer: StreamSocket
  private(set) var replies: [RedisReply] = []
  private(set) var end: String?
  private(set) var arrivals = 0

  init(limits: RedisConnection.Limits = RedisConnection.Limits(reply: 100_000)) throws {
    loop = try EventLoop()
    let path = directory.path + "/socket"
    listener = try UnixListener(path: path)
    connection = try RedisConnection(to: .unix(path: path), on: loop, limits: limits)
    guard case .client(let peer) = listener.accept() else { throw TestFailure("no client") }
    self.peer = peer
    connection.onEnd = { [unowned self] trouble in end = trouble.reason }
  }

  func ask() {
    connection.send(RedisCommand("PING")) { [unowned self] reply in replies.append(reply) }
    loop.settle()
  }

  /// Asks for a value; `arrivals` counts the parts of it that have come.
  func askForValue() {
    connection.send(
      RedisCommand("GET", "a"), arriving: { [unowned self] in arrivals += 1 },
      then: { [unowned self] reply in replies.append(reply) })
    loop.settle()
  }

  func say(_ text: String) { say(Array(text.utf8)) }

  func say(_ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count, connection.isOpen {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(
          peer.descriptor.number, $0.baseAddress, $0.count,
          CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      sent += max(count, 0)
      loop.settle()
    }
  }
}

struct RedisConnectionTests {
  @Test func `answers come in the order of the questions, cut anywhere`() throws {
    let server = try HostileServer()
    for _ in 0..<4 { server.ask() }
    for byte in "+PONG\r\n$2\r\na\n\r\n*2\r\n:7\r\n$-1\r\n-ERR no\r\n" { server.say(String(byte)) }
    #expect(
      server.replies == [
        .word("PONG"), .bytes([97, 10]), .list([.number(7), .nothing]), .failure("ERR no"),
      ])
    #expect(server.end == nil)
  }

  @Test func `an answer that nothing had asked for ends the connection, not the process`() throws {
    let server = try HostileServer()
    server.say("+PONG\r\n")
    #expect(server.end?.contains("nothing had been asked for") == true)
    let full = try HostileServer()
    full.say("-ERR max number of clients reached\r\n")
    #expect(full.end == "ERR max number of clients reached")
  }

  @Test(arguments: [
    "*2147483647\r\n", "*1025\r\n", "?\r\n", "$x\r\n",
    "*2\r\n*2\r\n*2\r\n*2\r\n*2\r\n*2\r\n*2\r\n*2\r\n*2\r\n",
    "$-9\r\n",
  ])
  func `what no server says ends the connection`(text: String) throws {
    let server = try HostileServer()
    server.ask()
    server.say(text)
    #expect(server.end != nil && server.replies == [.lost])
  }

  @Test(arguments: ["$99999999\r\n", "+", "*1000\r\n$60000\r\n", "$9223372036854775807\r\n"])
  func `an answer without end is not taken in`(start: String) throws {
    let server = try HostileServer()
    server.ask()
    server.say(start + String(repeating: "a", count: 200_000))
    #expect(server.end != nil && server.replies == [.lost])
  }

  @Test func `many small parts are counted as well`() throws {
    let server = try HostileServer()
    server.ask()
    server.say(
      "*1000\r\n"
        + String(repeating: "$200\r\n" + String(repeating: "a", count: 200) + "\r\n", count: 999))
    #expect(server.end?.contains("more than 100000 bytes") == true)
  }

  @Test func `a value that comes byte by byte is whole in the end`() throws {
    let picture = TestedPicture(count: 17_000)
    let server = try HostileServer()
    server.askForValue()
    server.ask()
    let bytes = try #require(picture.value().bytes)
    let all = Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n+PONG\r\n".utf8)
    for byte in all { server.say([byte]) }
    #expect(server.replies == [.value(ArrivedValue(bytes)), .word("PONG")])
    // Nothing is told of the last byte, and nothing of an answer that is no value.
    #expect(server.arrivals == all.count - 1 - "+PONG\r\n".utf8.count)
  }

  @Test func `commands that wait have a limit`() throws {
    let server = try HostileServer(limits: .init(reply: 1_000, output: 1_000_000, commands: 5))
    for _ in 0..<9 { server.ask() }
    #expect(server.replies == Array(repeating: .lost, count: 4))
    var large = RedisCommand("SET")
    large.add([UInt8](repeating: 0, count: 1_000_000))
    #expect(!server.connection.hasRoom(for: large.bytes.count))
    server.connection.close()
    #expect(server.replies == Array(repeating: .lost, count: 9) && server.end == nil)
  }
}
