import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// The other end of the gateway's connections, on the loop of the test: nothing happens but in `settle`.
final class PlannedDaemon {
  /// A line that has arrived.
  struct Request {
    let connection: Int
    let line: JSONValue

    var id: Int { Int(line["id"]?.integer ?? -1) }
    var command: String { line["cmd"]?.string ?? "" }
  }

  let path: String
  let loop: EventLoop
  private let directory = TemporaryDirectory()
  private let listener: FileDescriptor
  private var watches: [Watch] = []
  private var connections: [Int: CInt] = [:]
  private(set) var connectionCount = 0
  /// How many the gateway has not closed.
  var openConnections: Int { connections.count }
  private(set) var requests: [Request] = []
  /// Answers lines as they arrive; by itself none is.
  var onRequest: (Request) -> Void = { _ in }

  init(on loop: EventLoop) throws {
    self.loop = loop
    path = directory.path + "/s"
    listener = FileDescriptor(owning: try listen(at: path))
    watches.append(try loop.watch(listener.number, for: .read) { [unowned self] _ in take() })
  }

  deinit {
    for watch in watches { watch.cancel() }
    for number in connections.values { Glibc.close(number) }
  }

  /// The requests with a command.
  func requests(_ command: String) -> [Request] { requests.filter { $0.command == command } }

  // MARK: Answers

  /// Sends a line, with a descriptor of these bytes.
  func send(_ line: String, with bytes: [UInt8]? = nil, over connection: Int) {
    guard let number = connections[connection] else { return }
    let descriptors = bytes.map { [Self.memory($0)] } ?? []
    _ = ImgdTestSupport.send(Array((line + "\n").utf8), with: descriptors, to: number)
    for descriptor in descriptors { Glibc.close(descriptor) }
  }

  private static func memory(_ bytes: [UInt8]) -> CInt {
    guard let file = try? Payload(bytes).shareable().openReadOnly() else {
      preconditionFailure("there is memory for a picture of a test")
    }
    return file.release()
  }

  /// Answers a request with further fields.
  func answer(_ request: Request, _ fields: String = #""ok":true"#, with bytes: [UInt8]? = nil) {
    send(#"{"id":\#(request.id),\#(fields)}"#, with: bytes, over: request.connection)
  }

  /// Answers a fetch with a picture.
  func give(
    _ request: Request, _ bytes: [UInt8] = picture, type: String = "image/png", fields: String = "",
    lent: String = ""
  ) {
    let lent = #""kind":"encoded","bytes":\#(bytes.count),"checksum":"00112233445566aa"\#(lent)"#
    answer(
      request,
      #""ok":true,"type":"\#(type)","age":3,"fresh_for":57\#(fields),"fds":[{\#(lent)}]"#,
      with: bytes)
  }

  static let picture = [UInt8]("a picture of hundred bytes".utf8) + [UInt8](repeating: 1, count: 74)

  /// Ends a connection.
  func hangUp(_ connection: Int) {
    guard let number = connections.removeValue(forKey: connection) else { return }
    watches.removeAll { watch in
      guard watch.descriptor == number else { return false }
      watch.cancel()
      return true
    }
    Glibc.close(number)
  }

  /// Takes no connection any more.
  func close() {
    for connection in Array(connections.keys) { hangUp(connection) }
    watches.first { $0.descriptor == listener.number }?.cancel()
    shutdown(listener.number, CInt(SHUT_RDWR))
  }

  // MARK: Connections

  private func take() {
    let number = accept(listener.number, nil, nil)
    guard number >= 0 else { return }
    connectionCount += 1
    let connection = connectionCount
    connections[connection] = number
    var rest: [UInt8] = []
    let watch = try? loop.watch(number, for: .read) { [unowned self] _ in
      read(number, connection, &rest)
    }
    if let watch { watches.append(watch) }
  }

  private func read(_ number: CInt, _ connection: Int, _ rest: inout [UInt8]) {
    var room = [UInt8](repeating: 0, count: 65_536)
    let count = recv(number, &room, room.count, CInt(MSG_DONTWAIT))
    guard count > 0 else { return hangUp(connection) }
    rest += room[..<count]
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      guard let line = try? JSONValue(parsing: Array(rest[..<end]).span) else {
        preconditionFailure("the gateway sends JSON")
      }
      rest.removeFirst(end + 1)
      requests.append(Request(connection: connection, line: line))
      onRequest(requests[requests.count - 1])
    }
  }
}
