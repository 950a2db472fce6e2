import ImgdGateway
import ImgdWire
import Testing

/// A request as a test sends it, and the answer that it got.
final class StagedExchange: HTTPExchange {
  let method: HTTPMethod
  let target: String
  let peer: HTTPPeer
  var onLeave: (() -> Void)?
  var onEnd: (() -> Void)?
  var notes = RequestNotes()
  private let sent: [(name: String, value: String)]
  private(set) var response: HTTPResponse?

  init(
    _ target: String, _ method: HTTPMethod = .get,
    _ fields: [(name: String, value: String)] = [("Host", "localhost")], from peer: HTTPPeer = .loopback
  ) {
    self.peer = peer
    self.target = target
    self.method = method
    sent = fields
  }

  func fields(_ name: String) -> [String] {
    sent.filter { $0.name.lowercased() == name.lowercased() }.map { $0.value }
  }

  func answer(_ response: HTTPResponse) {
    #expect(self.response == nil, "answered twice")
    self.response = response
  }

  var status: Int { response?.status ?? 0 }

  func field(_ name: String) -> String? {
    response?.fields.first { $0.name == name }?.value
  }

  /// The body where it is text.
  var text: String {
    guard case .bytes(let bytes) = response?.body else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  var json: JSONValue { (try? JSONValue(parsing: text)) ?? .null }

  var stream: HTTPStream? {
    guard case .stream(let stream) = response?.body else { return nil }
    return stream
  }
}
