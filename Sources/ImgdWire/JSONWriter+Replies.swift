// The frame of every line that the daemon sends.

extension JSONWriter {
  /// Begins the line that ends a command.
  package mutating func beginReply(id: RequestID, ok: Bool) {
    beginObject()
    field(id: id)
    field("ok", ok)
  }

  /// Begins a line of news about a request.
  package mutating func beginEvent(_ name: String, id: RequestID, receipt: ReceiptID) {
    beginObject()
    field(id: id)
    field("event", name)
    field("receipt", receipt)
  }

  package mutating func endReply() {
    endObject()
    newline()
  }

  /// A whole line that says what went wrong, but for what `more` adds.
  package mutating func failure(
    id: RequestID, receipt: ReceiptID?, _ error: WireError,
    more: (inout JSONWriter) -> Void = { _ in }
  ) {
    beginReply(id: id, ok: false)
    if let receipt { field("receipt", receipt) }
    object("error") { line in
      line.field("code", error.code.rawValue)
      line.field("message", error.message)
      line.field("retryable", error.isRetryable)
      if error.details != .object([]) { line.field("details", error.details) }
    }
    more(&self)
    endReply()
  }

  private mutating func field(id: RequestID) {
    switch id {
    case .none: break
    case .integer(let number): field("id", Int(number))
    case .string(let text): field("id", text)
    }
  }
}
