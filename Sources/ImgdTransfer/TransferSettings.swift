/// Settings for all transfers; a transfer keeps those that it began with.
package struct TransferSettings: Sendable {
  /// The limit for name resolution, connection and TLS of each hop.
  package var connectTimeout: Duration = .seconds(10)
  /// How long a connected origin may be silent.
  package var idleTimeout: Duration = .seconds(20)
  package var maxRedirects = 5
  package var retries = 2
  package var userAgent = "imgd" { didSet { ownLines = Self.lines(of: ownFields) } }
  /// The `Accept` header.
  package var accept = "image/*,*/*;q=0.5" { didSet { ownLines = Self.lines(of: ownFields) } }
  /// The URL of the proxy for all requests; proxies of the environment are ignored.
  package var proxy: String?
  package var caFile = "/etc/ssl/certs/ca-certificates.crt"
  package var addressRule = AddressRule()
  /// How many idle connections are kept for the next transfer to the same origin.
  package var maxConnections = 32

  /// The header lines of a request without fields of its own, as nearly all are.
  private(set) var ownLines: [String] = []

  package init() {
    ownLines = Self.lines(of: ownFields)
  }

  /// The fields of every request.
  var ownFields: [HeaderField] {
    [HeaderField("User-Agent", userAgent), HeaderField("Accept", accept)].filter(\.isOneLine)
  }

  /// What ends the lines of every request: curl would send `Expect` by itself.
  static let closingLines = ["Expect:"]

  private static func lines(of fields: [HeaderField]) -> [String] {
    fields.map(\.line) + closingLines
  }
}
