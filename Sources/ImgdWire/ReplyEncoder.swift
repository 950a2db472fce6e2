/// The frame of every line of the daemon: the request's id first, then `ok` or `event`, then the rest.
package enum ReplyEncoder {
  /// Begins a terminal line; the fields follow, then `end`.
  package static func begin(id: RequestID, ok: Bool, into json: inout JSONWriter) {
    json.beginObject()
    field(id, into: &json)
    json.field("ok", ok)
  }

  /// Begins an event line; the fields follow, then `end`.
  package static func begin(
    id: RequestID = .none, event: StaticString, receipt: ReceiptID? = nil, into json: inout JSONWriter
  ) {
    json.beginObject()
    field(id, into: &json)
    json.name("event")
    json.value(static: event)
    if let receipt { json.field("receipt", receipt) }
  }

  /// Ends a line that was begun.
  package static func end(into json: inout JSONWriter) {
    json.endObject()
    json.newline()
  }

  /// A whole terminal line for an error.
  package static func failure(id: RequestID, receipt: ReceiptID? = nil, error: WireError, into json: inout JSONWriter) {
    begin(id: id, ok: false, into: &json)
    if let receipt { json.field("receipt", receipt) }
    self.error(error, into: &json)
    end(into: &json)
  }

  /// The field `error`, for lines that hold more than the error.
  package static func error(_ error: WireError, into json: inout JSONWriter) {
    json.beginObject("error")
    json.field("code", error.code.rawValue)
    json.field("message", error.message)
    json.field("retryable", error.isRetryable)
    if !error.details.isEmpty {
      json.name("details")
      json.object(error.details)
    }
    json.endObject()
  }

  static func field(_ id: RequestID, into json: inout JSONWriter) {
    switch id {
    case .none: return
    case .integer(let number): json.field("id", Int(number))
    case .string(let string): json.field("id", string)
    }
  }
}
