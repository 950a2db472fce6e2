/// The steps by which an origin answers a request.
package struct OriginAnswer: Sendable {
  package enum Step: Sendable {
    case send([UInt8])
    case wait(Gate)
    /// Sends the bytes again and again until the client closes.
    case repeating([UInt8])
    /// Closes the connection normally.
    case close
    /// Resets the connection.
    case reset
    /// Sends nothing until the client closes.
    case silence
    /// Fails as a transfer does; for origins without a connection.
    case fail(any Error)
  }

  package let steps: @Sendable (OriginRequest) -> [Step]

  package init(_ steps: @escaping @Sendable (OriginRequest) -> [Step]) {
    self.steps = steps
  }

  init(_ steps: Step...) {
    self.steps = { _ in steps }
  }
}

// MARK: Correct answers

extension OriginAnswer {
  package static func picture(
    _ bytes: [UInt8], type: String = "image/png", headers: [(String, String)] = []
  ) -> OriginAnswer {
    body(bytes, headers: [("Content-Type", type)] + headers)
  }

  package static func body(
    _ bytes: [UInt8], status: Int = 200, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer(.send(head(status, headers, length: bytes.count) + bytes))
  }

  package static func status(
    _ status: Int, headers: [(String, String)] = [], body bytes: [UInt8] = []
  ) -> OriginAnswer {
    body(bytes, status: status, headers: headers)
  }

  package static func redirect(
    to location: String, status: Int = 302, body bytes: [UInt8] = [],
    headers: [(String, String)] = []
  ) -> OriginAnswer {
    body(bytes, status: status, headers: headers + [("Location", location)])
  }

  /// 304 for a request with this tag, else the body with the status.
  package static func conditional(
    _ bytes: [UInt8], tag: String, status: Int = 200, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer { request in
      let headers = headers + [("ETag", tag)]
      let isKnown = request.header("if-none-match") == tag
      let status = isKnown ? 304 : status
      return [
        .send(head(status, headers, length: isKnown ? nil : bytes.count)),
        .send(isKnown ? [] : bytes),
      ]
    }
  }

  /// Supports ranges: the requested range if `If-Range` has this tag, else the whole body. With `most`
  /// it closes after so many bytes of the body.
  package static func ranged(
    _ bytes: [UInt8], tag: String, most: Int = .max, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer { request in
      let headers = headers + [("ETag", tag), ("Accept-Ranges", "bytes")]
      let start = request.header("if-range") == tag ? request.rangeStart ?? 0 : 0
      guard start < bytes.count else {
        return [.send(head(416, [("Content-Range", "bytes */\(bytes.count)")], length: 0))]
      }
      let range = ("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)")
      let rest = bytes.dropFirst(start)
      let opening =
        start > 0
        ? head(206, headers + [range], length: rest.count)
        : head(200, headers, length: rest.count)
      return [.send(opening + rest.prefix(most))] + (rest.count > most ? [.close] : [])
    }
  }

  /// The request's own head as the body.
  package static var echo: OriginAnswer {
    OriginAnswer { request in
      let bytes = Array(request.text.utf8)
      return [.send(head(200, [], length: bytes.count) + bytes)]
    }
  }

  package static func chunked(
    _ chunks: [[UInt8]], headers: [(String, String)] = []
  ) -> OriginAnswer {
    let start = head(200, headers + [("Transfer-Encoding", "chunked")], length: nil)
    return OriginAnswer(.send(start + chunks.flatMap(chunk) + Array("0\r\n\r\n".utf8)))
  }

  /// A body without a length, which ends with the connection.
  package static func untilClosed(
    _ bytes: [UInt8], headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer(.send(head(200, headers, length: nil) + bytes), .close)
  }

  /// A gzip body, labelled as such.
  package static func gzip(_ bytes: [UInt8], headers: [(String, String)] = []) -> OriginAnswer {
    body(Gzip.stored(bytes), headers: [("Content-Encoding", "gzip")] + headers)
  }

  /// A chunked gzip body.
  package static func chunkedGzip(_ bytes: [UInt8]) -> OriginAnswer {
    chunked([Gzip.stored(bytes)], headers: [("Content-Encoding", "gzip")])
  }
}

// MARK: Slow answers

extension OriginAnswer {
  /// Waits at the gate before the answer.
  package static func held(at gate: Gate, then answer: OriginAnswer) -> OriginAnswer {
    OriginAnswer { request in [.wait(gate)] + answer.steps(request) }
  }

  /// Sends the head and the first bytes of the body, and the rest after the gate is opened.
  package static func body(
    _ bytes: [UInt8], heldAfter count: Int, at gate: Gate, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer(
      .send(head(200, headers, length: bytes.count) + bytes.prefix(count)), .wait(gate),
      .send(Array(bytes.dropFirst(count))))
  }

  /// Sends the parts, and waits at the gate before each but the first.
  package static func parts(_ parts: [[UInt8]], with gate: Gate) -> OriginAnswer {
    OriginAnswer { _ in
      parts.enumerated().flatMap { index, part in
        index == 0 ? [.send(part)] : [.wait(gate), .send(part)]
      }
    }
  }

  /// Reads the request and never answers.
  package static var silence: OriginAnswer { OriginAnswer(.silence) }

  /// Sends exactly this text, and then nothing, without closing.
  package static func stalls(after text: String) -> OriginAnswer {
    OriginAnswer(.send(Array(text.utf8)), .silence)
  }

  /// Sends the head and the first bytes of the body, and then nothing, without closing.
  package static func stalls(
    _ bytes: [UInt8], after count: Int, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer(.send(head(200, headers, length: bytes.count) + bytes.prefix(count)), .silence)
  }
}

// MARK: Faulty answers

extension OriginAnswer {
  /// Closes in the middle of the body.
  package static func cut(
    _ bytes: [UInt8], after count: Int, headers: [(String, String)] = []
  ) -> OriginAnswer {
    OriginAnswer(.send(head(200, headers, length: bytes.count) + bytes.prefix(count)), .close)
  }

  /// Announces another length than it sends, and closes.
  package static func misannounced(_ bytes: [UInt8], as length: Int) -> OriginAnswer {
    OriginAnswer(.send(head(200, [], length: length) + bytes), .close)
  }

  /// Sends a body without end, announced as `length` or not at all.
  package static func endless(length: Int? = nil, status: Int = 200) -> OriginAnswer {
    OriginAnswer(
      .send(head(status, [], length: length)), .repeating([UInt8](repeating: 0x2e, count: 65_536)))
  }

  /// Redirects, with an endless body.
  package static func endlessRedirect(to location: String) -> OriginAnswer {
    OriginAnswer(
      .send(head(302, [("Location", location)], length: nil)),
      .repeating([UInt8](repeating: 0x2e, count: 65_536)))
  }

  /// Closes before the last chunk.
  package static func chunkedCut(
    _ chunks: [[UInt8]], headers: [(String, String)] = []
  ) -> OriginAnswer {
    let start = head(200, headers + [("Transfer-Encoding", "chunked")], length: nil)
    return OriginAnswer(.send(start + chunks.flatMap(chunk)), .close)
  }

  /// Sends a chunked body, and then trailers without end.
  package static func endlessTrailers(_ bytes: [UInt8]) -> OriginAnswer {
    let start = head(200, [("Transfer-Encoding", "chunked")], length: nil)
    return OriginAnswer(
      .send(start + chunk(bytes) + Array("0\r\n".utf8)), .repeating(Array("X-Trailer: x\r\n".utf8)))
  }

  /// Announces an answer again and again.
  package static var endlessHints: OriginAnswer {
    OriginAnswer(.repeating(Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8)))
  }

  /// Sends a head whose last line goes on for ever.
  package static func endlessLine(status: Int = 200) -> OriginAnswer {
    OriginAnswer(
      .send(Array("HTTP/1.1 \(status) Status \(status)\r\nX-Long: ".utf8)),
      .repeating([UInt8](repeating: 0x2e, count: 65_536)))
  }

  /// Sends the body unencoded, but labelled as encoded.
  package static func labelled(_ bytes: [UInt8], as coding: String) -> OriginAnswer {
    body(bytes, headers: [("Content-Encoding", coding)])
  }

  /// Closes without an answer.
  package static var closed: OriginAnswer { OriginAnswer(.close) }

  /// Resets the connection without an answer.
  package static var reset: OriginAnswer { OriginAnswer(.reset) }

  /// What only a planned transfer can do: fails in a way that the test names.
  package static func fails(_ failure: any Error) -> OriginAnswer { OriginAnswer(.fail(failure)) }

  /// Exactly these bytes, then closes.
  package static func raw(_ text: String) -> OriginAnswer { raw(Array(text.utf8)) }

  package static func raw(_ bytes: [UInt8]) -> OriginAnswer {
    OriginAnswer(.send(bytes), .close)
  }
}

// MARK: Bytes

extension OriginAnswer {
  private static func head(
    _ status: Int, _ headers: [(String, String)], length: Int?
  ) -> [UInt8] {
    var text = "HTTP/1.1 \(status) Status \(status)\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let length { text += "Content-Length: \(length)\r\n" }
    return Array((text + "\r\n").utf8)
  }

  private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
    Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + Array("\r\n".utf8)
  }
}
