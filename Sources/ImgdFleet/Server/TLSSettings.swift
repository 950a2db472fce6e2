/// What a connection with TLS needs to know besides the address. Where no authorities are named, the system's are asked.
package struct TLSSettings: Sendable, Equatable {
  /// The certificates of the authorities that may vouch for the server.
  package var caFile: String?
  /// The name that the server's certificate has to have; nil for the host as the configuration names it.
  package var serverName: String?
  /// The certificate of this host and its key, for a server that asks for them.
  package var certificateFile: String?
  package var keyFile: String?

  package init(
    caFile: String? = nil, serverName: String? = nil, certificateFile: String? = nil, keyFile: String? = nil
  ) {
    self.caFile = caFile
    self.serverName = serverName
    self.certificateFile = certificateFile
    self.keyFile = keyFile
  }
}
