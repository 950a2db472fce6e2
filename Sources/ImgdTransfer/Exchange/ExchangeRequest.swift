/// Everything that one exchange needs before it begins.
struct ExchangeRequest {
  let url: TransferURL
  let headers: [HeaderField]
  let settings: TransferSettings
  /// Whether an earlier hop was to a public address.
  var afterPublic = false
  /// False after the origin has labelled plain bytes as encoded.
  var decodes = true
  /// Whether to open a new connection even if one is kept.
  var avoidsKeptConnections = false
  /// The fields that request the rest of a partial body.
  var resuming: [HeaderField] = []

  /// The header lines in curl's notation: the order's fields, then the engine's unless the order has
  /// the same. curl would send `Expect` by itself.
  var headerLines: [String] {
    let sound = headers.filter { $0.isOneLine }
    let names = Set(sound.map { $0.name.lowercased() })
    let own = [
      HeaderField("User-Agent", settings.userAgent), HeaderField("Accept", settings.accept),
    ].filter { !names.contains($0.name.lowercased()) && $0.isOneLine }
    return (sound + own + resuming).map(\.line) + ["Expect:"]
  }
}
