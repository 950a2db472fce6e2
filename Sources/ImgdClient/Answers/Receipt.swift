internal import ImgdWire

/// The handle of a fetch: a UUID.
public struct Receipt: Hashable, Sendable, CustomStringConvertible {
  let id: ReceiptID

  /// Reads a UUID in the usual form, in either case.
  public init?(_ text: String) {
    guard let id = ReceiptID(text) else { return nil }
    self.id = id
  }

  /// The UUID in lower case.
  public var description: String { id.description }
}
