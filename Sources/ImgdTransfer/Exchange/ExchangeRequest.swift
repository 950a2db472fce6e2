/// Everything that one exchange needs before it begins.
struct ExchangeRequest {
  let url: TransferURL
  let headers: [HeaderField]
  let settings: TransferSettings
  /// The host that is connected to: the proxy's, if there is one.
  let target: TransferURL
  /// The addresses of the target, if it has a name that was looked up.
  var addresses: [IPAddress] = []
  /// The limit for the connection and TLS.
  var connectTimeout: Duration
  /// Whether an earlier hop was to a public address.
  var afterPublic = false
  /// False after the origin has labelled plain bytes as encoded.
  var decodes = true
  /// Whether to open a new connection even if one is kept.
  var avoidsKeptConnections = false
  /// The fields that request the rest of a partial body.
  var resuming: [HeaderField] = []

  init(url: TransferURL, headers: [HeaderField], settings: TransferSettings) throws(TransferFailure) {
    self.url = url
    self.headers = headers
    self.settings = settings
    target = if let proxy = settings.proxy { try TransferURL(proxy) } else { url }
    connectTimeout = settings.connectTimeout
  }

  /// The addresses in curl's notation; the plus sign makes curl forget them after a while.
  var addressLines: [String] {
    guard !addresses.isEmpty else { return [] }
    let list = addresses.map { address in if case .v6 = address { "[\(address)]" } else { "\(address)" } }
    return ["+\(target.host):\(target.port):\(list.joined(separator: ","))"]
  }

  /// The header lines in curl's notation: the order's fields, then the engine's unless the order has
  /// the same. curl would send `Expect` unasked.
  var headerLines: [String] {
    if headers.isEmpty, resuming.isEmpty { return settings.ownFields.lines }
    let sound = headers.filter { $0.isOneLine }
    let names = Set(sound.map { $0.name.lowercased() })
    let own = settings.ownFields.fields.filter { !names.contains($0.name.lowercased()) }
    return (sound + own + resuming).map(\.line) + OwnFields.closingLines
  }
}
