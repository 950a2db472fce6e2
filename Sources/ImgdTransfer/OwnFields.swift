/// The header fields that the engine gives every request.
package struct OwnFields: Sendable {
  /// The last lines of every request: curl would otherwise send `Expect` unasked.
  static let closingLines = ["Expect:"]

  let fields: [HeaderField]
  /// All lines of a request without other fields, as nearly all are, in curl's notation.
  let lines: [String]

  /// Fields that would be more than one line are left out.
  package init(userAgent: String = "imgd", accept: String = "image/*,*/*;q=0.5") {
    fields = [HeaderField("User-Agent", userAgent), HeaderField("Accept", accept)].filter(\.isOneLine)
    lines = fields.map(\.line) + Self.closingLines
  }
}
