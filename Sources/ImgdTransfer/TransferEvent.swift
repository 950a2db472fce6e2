package import ImgdSystem

/// News of a transfer. The last one is always `finished`, unless the transfer is aborted.
package enum TransferEvent: Sendable {
  /// The final response's headers are there. `expected` is nil when the origin does not say how
  /// long the body is, or sends it encoded. Comes again when a broken body is fetched anew, and
  /// not when it is continued: then progress goes on, over the whole.
  case headers(serial: UInt64, expected: Int?)
  /// At most ten a second, and always one with the final count.
  case progress(serial: UInt64, received: Int, expected: Int?)
  case finished(serial: UInt64, TransferOutcome)
}

/// How a transfer ended.
package enum TransferOutcome: Sendable {
  case received(TransferResult)
  case failed(TransferFailure)
}

/// A response that was fetched whole.
package struct TransferResult: Sendable {
  /// The body, decoded; empty when the origin confirmed what the order was conditional on (304).
  package let payload: Payload
  package let head: ResponseHead
  /// How many attempts had failed before.
  package let retries: Int
  /// How many bytes of the body were there before the last attempt; 0 when it began anew.
  package let resumedFrom: Int

  /// The size of the body, decoded.
  package var bytesReceived: Int { payload.count }

  package init(payload: Payload, head: ResponseHead, retries: Int, resumedFrom: Int = 0) {
    self.payload = payload
    self.head = head
    self.retries = retries
    self.resumedFrom = resumedFrom
  }
}

/// What the final response said before its body.
package struct ResponseHead: Sendable, Equatable {
  package let status: Int
  /// Names in lower case, in the order of arrival, each once: repeated ones are joined by `, `.
  package let headers: [HeaderField]
  /// Where the redirects led; nil without any.
  package let finalURL: String?

  package init(status: Int, headers: [HeaderField], finalURL: String? = nil) {
    self.status = status
    self.headers = headers
    self.finalURL = finalURL
  }

  /// The value of a header, by its lower-case name.
  package subscript(name: String) -> String? {
    headers.first { $0.name == name }?.value
  }
}
