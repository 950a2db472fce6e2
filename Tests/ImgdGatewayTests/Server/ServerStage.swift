import Glibc
import ImgdGateway
import ImgdSystem
import ImgdTestSupport

/// A server on a loop whose clock stands still, and the requests that it has handed out.
final class ServerStage {
  let clock = LoopClock.manual()
  let loop: EventLoop
  /// Nil once it is forgotten.
  private var running: HTTPServer?
  var server: HTTPServer {
    guard let running else { preconditionFailure("the server is forgotten") }
    return running
  }
  private(set) var exchanges: [any HTTPExchange] = []
  /// What becomes of a request; by default it waits.
  var onRequest: (any HTTPExchange) -> Void = { _ in }

  private let directory = TemporaryDirectory()
  private let listener: HTTPListener
  private var path: String { directory.path + "/http.sock" }

  init(_ peer: HTTPPeer = .unix, _ limits: HTTPLimits = HTTPLimits()) throws {
    loop = try EventLoop(clock: clock)
    listener =
      try peer == .unix
      ? HTTPListener(adopting: listen(at: directory.path + "/http.sock"))
      : HTTPListener(address: "127.0.0.1", port: 0)
    running = try HTTPServer(on: loop, at: try listener.makePlace(), limits: limits) { [unowned self] in
      exchanges.append($0)
      onRequest($0)
    }
  }

  /// A stage whose server answers each request at once with its target.
  static func echo(_ peer: HTTPPeer = .unix, _ limits: HTTPLimits = HTTPLimits()) throws
    -> ServerStage
  {
    let stage = try ServerStage(peer, limits)
    stage.onRequest = { $0.answer(.text($0.target)) }
    return stage
  }

  func connect() throws -> RawClient {
    let number =
      try listener.port.map { try connectLoopback($0) } ?? ImgdTestSupport.connect(to: path)
    return RawClient(number) { [loop] in loop.settle() }
  }

  /// Lets time pass.
  func advance(_ step: Duration) {
    loop.settle()
    clock.advance(by: step)
    loop.settle()
  }

  /// Goes on until something is so.
  func wait(until condition: () -> Bool) throws {
    try waitFor {
      loop.settle(); return condition()
    }
  }

  /// Frees the server, which is not closed before.
  func forgetServer() { running = nil }
}

extension HTTPResponse {
  static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, fields: [("X-Test", "yes")], body: .bytes(Array(text.utf8)))
  }

  static func stream(_ stream: HTTPStream) -> HTTPResponse {
    HTTPResponse(status: 200, fields: [], body: .stream(stream))
  }
}

private func connectLoopback(_ port: Int) throws -> CInt {
  let number = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  address.sin_port = UInt16(port).bigEndian
  let outcome = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard outcome == 0 else { throw TestFailure("connect: errno \(errno)") }
  return number
}

/// Goes on for a minute at most.
func waitFor(_ condition: () throws -> Bool) throws {
  guard try becomes(condition) else { throw TestFailure("it did not come to that") }
}
