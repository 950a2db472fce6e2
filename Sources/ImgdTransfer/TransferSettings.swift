/// Settings for all transfers; a transfer keeps those that it began with.
package struct TransferSettings: Sendable {
  /// The limit for name resolution, connection and TLS.
  package var connectTimeout: Duration = .seconds(10)
  /// How long a connected origin may be silent.
  package var idleTimeout: Duration = .seconds(20)
  package var retries = 2
  /// The fields of every request.
  package var ownFields = OwnFields()
  /// The URL of the proxy for all requests; proxies of the environment are ignored.
  package var proxy: String?
  package var caFile = "/etc/ssl/certs/ca-certificates.crt"
  package var addressRule = AddressRule()
  /// How many idle connections are kept for the next transfer to the same origin.
  package var maxConnections = 32

  package init() {}
}
