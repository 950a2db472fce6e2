import ImgdSystem
import ImgdTransfer
import ImgdWire

extension TransferSettings {
  /// The settings of the transfer engine.
  init(_ configuration: Configuration) {
    self.init()
    let downloads = configuration.downloads
    connectTimeout = downloads.connectTimeout
    idleTimeout = downloads.idleTimeout
    maxRedirects = downloads.maxRedirects
    retries = downloads.retries
    userAgent = downloads.userAgent
    accept =
      downloads.acceptTypes.map { "image/\($0.rawValue)" }.joined(separator: ",") + ",*/*;q=0.1"
    proxy = configuration.network.proxy
    caFile = configuration.network.caFile
    addressRule = AddressRule(configuration.network)
    maxConnections = max(2 * downloads.maxActive, 16)
  }
}

extension AddressRule {
  init(_ network: Configuration.Network) {
    self.init(
      mode: Mode(rawValue: network.privateAddresses.rawValue) ?? .direct,
      allow: network.allow.compactMap { AddressRange($0) },
      deny: network.deny.compactMap { AddressRange($0) })
  }
}

extension WireLimits {
  init(_ control: Configuration.Control) {
    self.init()
    line = control.maxLine
    connections = control.maxClients
    inline = control.maxInline
  }
}
