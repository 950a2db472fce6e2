/// One download for the engine, with its limits.
package struct TransferOrder: Sendable {
  /// Identifies the transfer; unique among those under way.
  package let serial: UInt64
  package let url: String
  /// Sent in addition to the engine's own; a field of the same name replaces the engine's.
  package var headers: [HeaderField]
  /// The maximum size of the body, after decoding.
  package var maxBytes: Int
  /// The limit for everything together: attempts and the pauses between them.
  package var deadline: Duration
  /// Whether a body that breaks off may be kept for a later transfer, and this one may continue such a
  /// body.
  package var keepsPartial: Bool
  /// The user for whom the name is looked up, where users take turns.
  package var uid: UInt32
  /// Whether a public address has led here: then a private one is refused.
  package var isAfterPublic: Bool
  /// What the transfer waits for at the moment.
  package let phase = PhaseCell()

  package init(
    serial: UInt64, url: String, headers: [HeaderField] = [], maxBytes: Int, deadline: Duration,
    keepsPartial: Bool = true, uid: UInt32 = 0, isAfterPublic: Bool = false
  ) {
    self.serial = serial
    self.url = url
    self.headers = headers
    self.maxBytes = maxBytes
    self.deadline = deadline
    self.keepsPartial = keepsPartial
    self.uid = uid
    self.isAfterPublic = isAfterPublic
  }

  /// Whether the request is conditional, so that 304 is a valid answer.
  var isConditional: Bool { headers.contains { Self.conditions.contains($0.name.lowercased()) } }

  private static let conditions: Set<String> = ["if-none-match", "if-modified-since"]

  /// Whether the body may be assembled from parts: not when the order has conditions or a range of its
  /// own, nor when the response may not be stored.
  var isResumable: Bool {
    !headers.contains { field in
      let name = field.name.lowercased()
      return name.hasPrefix("if-") || name == "range" || name == "cache-control" && Self.forbidsStoring(field.value)
    }
  }

  private static func forbidsStoring(_ cacheControl: String) -> Bool {
    cacheControl.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0.hasPrefix("no-store") }
  }
}
