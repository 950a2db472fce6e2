@testable import ImgdGateway

/// A request of HTTP as a test makes it, which keeps its answer.
final class PlannedExchange: HTTPExchange {
  let method: HTTPMethod
  /// The stage gives it one for its request.
  var target = "/fetch"
  let peer = HTTPPeer.unix
  var onLeave: (() -> Void)?
  var onEnd: (() -> Void)?
  var notes = RequestNotes()
  private let sent: [(name: String, value: String)]
  private(set) var answers: [HTTPResponse] = []
  /// What the answer said of the cache when it was given: one that is given again says something else later.
  private(set) var cacheStatus: String?

  init(_ method: HTTPMethod = .get, _ sent: [(String, String)] = []) {
    self.method = method
    self.sent = sent
  }

  func fields(_ name: String) -> [String] {
    sent.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  func answer(_ response: HTTPResponse) {
    answers.append(response)
    cacheStatus = response.value(of: "Cache-Status")
  }

  /// The client goes.
  func leave() {
    let leave = onLeave
    onLeave = nil
    leave?()
  }

  var status: Int? { answers.first?.status }

  /// The value of a field of the answer; nil if there is none, and for several.
  subscript(_ name: String) -> String? { answers.first?.value(of: name) }

  /// The text of an answer that is no picture.
  var text: String? {
    guard case .bytes(let bytes)? = answers.first?.body else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The part of the picture that is sent.
  var part: Range<Int>? {
    guard case .file(let range)? = answers.first?.body else { return nil }
    return range
  }
}

extension HTTPResponse {
  func value(of name: String) -> String? {
    let values = fields.filter { $0.name == name }
    return values.count == 1 ? values[0].value : nil
  }
}
