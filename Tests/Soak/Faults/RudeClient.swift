import Glibc
import ImgdTestSupport

/// Clients that do what no client should.
enum RudeClient {
  /// They ask for much and go before the answers.
  static func vanish(_ count: Int, at house: House) throws {
    for number in 0..<count {
      let connection = try connect(to: house.daemon.socket)
      let lines = (0..<20).map { fetch(house, picture: (number + $0) % Gallery.count) }
      send(lines.joined(), to: connection)
      close(connection)
    }
  }

  /// They ask for more than fits into their sockets, and read nothing: their connections, for the caller to keep.
  static func neverRead(_ count: Int, at house: House) throws -> [CInt] {
    try (0..<count).map { _ in
      let connection = try connect(to: house.daemon.socket)
      let lines = (0..<300).map { fetch(house, picture: $0 % 10, form: Verdict.Form.inline.fields) }
      send(lines.joined(), to: connection)
      return connection
    }
  }

  /// One sends what is no request, and requests, as fast as it can.
  static func flood(_ house: House) throws {
    let connection = try connect(to: house.daemon.socket)
    defer { close(connection) }
    let lines = (0..<200).map { $0 % 3 == 0 ? "no request\n" : #"{"cmd":"ping"}"# + "\n" }.joined()
    for _ in 0..<50 { send(lines, to: connection) }
  }

  private static func fetch(_ house: House, picture: Int, form: String = "") -> String {
    #"{"cmd":"fetch","url":"\#(house.origin.url(Gallery.path(picture)))"\#(form)}"# + "\n"
  }

  /// As much as goes without waiting.
  private static func send(_ text: String, to connection: CInt) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT | MSG_NOSIGNAL)) }
  }

  /// Connections that are open and not read.
  final class Unread {
    private var connections: [CInt] = []

    deinit { leave() }

    func keep(_ others: [CInt]) { connections += others }

    func leave() {
      for connection in connections { close(connection) }
      connections = []
    }
  }
}
