/// What became of one line.
package struct ParsedLine: Sendable {
  /// A request to carry out, or what to answer instead.
  package enum Outcome: Sendable {
    case request(Request)
    case refused(WireError)
  }

  /// Echoed in the answer; known also for a refused line where it could be read.
  package let id: RequestID
  package let outcome: Outcome
  /// The slot of a fetch that was refused for its URL: what runs in that slot is cancelled.
  package let slot: String?
  /// The receipt of a line that was refused, where it could be read.
  package let receipt: ReceiptID?

  init(id: RequestID, _ outcome: Outcome, slot: String? = nil, receipt: ReceiptID? = nil) {
    self.id = id
    self.outcome = outcome
    self.slot = slot
    self.receipt = receipt
  }
}
