/// What the engine is asked to fetch, and how much it may take and how long.
package struct TransferOrder: Sendable {
  /// The name by which everything else speaks of this transfer; no other that is under way has it.
  package let serial: UInt64
  package let url: String
  /// Sent beside the engine's own; a field of the same name replaces the engine's.
  package var headers: [HeaderField]
  /// Lower-case names of headers that no other origin may see. `authorization`, `cookie` and
  /// `proxy-authorization` always belong to them.
  package var credentialNames: Set<String>
  /// The most bytes that the body may have, after decoding.
  package var maxBytes: Int
  /// For everything together: redirects, retries and the waiting between them.
  package var deadline: Duration
  /// Whether what comes of a body that breaks off may wait for the next transfer, and be what an
  /// earlier one has left.
  package var keepsPartial: Bool

  package init(
    serial: UInt64, url: String, headers: [HeaderField] = [], credentialNames: Set<String> = [],
    maxBytes: Int, deadline: Duration, keepsPartial: Bool = true
  ) {
    self.serial = serial
    self.url = url
    self.headers = headers
    self.credentialNames = credentialNames
    self.maxBytes = maxBytes
    self.deadline = deadline
    self.keepsPartial = keepsPartial
  }

  /// Whether the order asks for the picture only if it has changed, so that 304 is an answer.
  var isConditional: Bool {
    headers.contains { Self.conditions.contains($0.name.lowercased()) }
  }

  private static let conditions: Set<String> = ["if-none-match", "if-modified-since"]

  /// Whether the answer may be put together from parts: not when the order has conditions or a
  /// range of its own, nor when nothing of the answer may be kept.
  var isResumable: Bool {
    !headers.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("if-") || name == "range"
        || name == "cache-control" && Self.forbidsStoring(field.value)
    }
  }

  private static func forbidsStoring(_ cacheControl: String) -> Bool {
    cacheControl.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
      .contains { $0.hasPrefix("no-store") }
  }
}
