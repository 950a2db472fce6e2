package import ImgdProgram

extension GatewayConfiguration: ProgramConfiguration {
  /// The keys of `[HTTP-Gateway]`. All need a restart, during which clients wait at the gateway's sockets.
  package static let keys: [ConfigurationKey<GatewayConfiguration>] = [
    key(
      "Listen", \.listen, .place, "Where the gateway listens: a path, or a port of this machine such as 127.0.0.1:8080."
    ),
    key("Allow", \.allow, .hosts, "Hosts whose pictures need no signature, with their subdomains; * for every host."),
    key(
      "KeyFile", \.keyFile, .path(longest: 4095),
      "The file with the keys of signatures, one on each line; empty for none."),
    key(
      "Presets", \.presets, .presets, "Named forms of pictures, such as thumb:300x200:cover and large:1600x:webp:q80."),
    key("OnlyPresets", \.onlyPresets, .boolean, "Whether a request must name a preset, and may set nothing else."),
    key(
      "Page", \.page, .word, "Who sees the page, its events and the metrics: this machine's browsers (local), all, no."),
    key(
      "TokenFile", \.tokenFile, .path(longest: 4095),
      "The file with the token that a purge needs; empty: nothing is purged over HTTP."),
    key(
      "TrustedProxies", \.trustedProxies, ValueFormat<HTTPPeer>.words,
      "The sockets whose X-Forwarded-For is believed: unix, loopback, both or neither."),
    key("MaxConnections", \.maxConnections, .count(1...100_000), "How many connections may be open at the same time."),
    key(
      "MaxPerAddress", \.maxPerAddress, .count(1...100_000),
      "How many requests of one forwarded address may be under way at the same time."),
    key(
      "Rate", \.rate, .count(0...1_000_000),
      "How many requests a second one forwarded address may send; 0 for any number."),
    key(
      "Timeout", \.timeout, .duration(waiting),
      "How long a picture may take until the request is answered with an error."),
    key(
      "IdleTimeout", \.idleTimeout, .duration(idle),
      "How long a connection may be idle, and a request take until it has arrived."),
  ]

  /// The daemon is given a number of milliseconds.
  private static let waiting = Duration.milliseconds(1)...Duration.seconds(3_600)
  /// The library that speaks HTTP counts whole seconds.
  private static let idle = Duration.seconds(1)...Duration.seconds(86_400)

  package static let example: (section: ConfigurationSection, assignment: String) = (.gateway, "Allow=example.org")

  /// `IMGD_SOCKET` is the daemon's socket here, as it is for every client.
  package static let shortVariables: [(variable: String, section: ConfigurationSection, key: String)] = []

  private static func key<Value>(
    _ name: String, _ place: any WritableKeyPath<GatewayConfiguration, Value> & Sendable, _ format: ValueFormat<Value>,
    _ help: String
  ) -> ConfigurationKey<GatewayConfiguration> { ConfigurationKey(.gateway, name, place, format, isLive: false, help) }

  /// Reports `OnlyPresets` without any preset: such a gateway would refuse everything.
  package func contradictions(origin: (_ key: String) -> String) -> [String] {
    guard onlyPresets, presets.isEmpty else { return [] }
    return [
      "\(origin("HTTP-Gateway.OnlyPresets")): HTTP-Gateway.OnlyPresets=yes leaves nothing to ask for: "
        + "set HTTP-Gateway.Presets, such as thumb:300x200:cover"
    ]
  }
}
