import Glibc
package import ImgdProgram
import ImgdSystem

/// The values of `[HTTP-Gateway]`.
package struct GatewayConfiguration: ProgramConfiguration {
  /// The place where the gateway listens, unless the service manager passes a socket.
  package enum Place: Equatable, Sendable {
    case unix(String)
    case port(address: String, port: Int)
  }

  /// Who may see the page, the metrics and the events.
  package enum PageAccess: String, Sendable, CaseIterable {
    /// Requests that name this machine as their host, and that no proxy has forwarded.
    case local
    case all
    case no
  }

  /// How requests are logged.
  package enum LogForm: String, Sendable, CaseIterable { case no, json, combined }

  package var listen = Place.unix("/run/imgd/http.sock")
  /// Whether other machines may connect.
  package var expose = false
  /// Hosts whose pictures may be asked for without a signature, with their subdomains; `*` for all.
  package var allow: [String] = []
  /// A file with the keys of signatures, one per line; empty for none.
  package var keyFile = ""
  package var presets: [Preset] = []
  package var onlyPresets = false
  /// The origins whose scripts may read pictures; `*` for all.
  package var cors: [String] = []
  /// Pictures that stand in for those that cannot be shown.
  package var fallback: [FallbackFile] = []
  package var fallbackStatus = FallbackStatus.error
  package var page = PageAccess.local
  /// A file with the token that a purge needs; if empty, nothing is purged.
  package var tokenFile = ""
  /// Peers whose `X-Forwarded-For` is believed.
  package var trustedProxies: [HTTPPeer.Kind] = [.unix]
  /// Threads that answer requests; nil for as many as fit the machine.
  package var workers: Int?
  package var maxConnections = 1_024
  /// Requests under way for one forwarded address.
  package var maxPerAddress = 32
  /// Requests a second for one forwarded address; zero for no limit.
  package var rate = 0
  /// How long a picture may take.
  package var timeout = Duration.seconds(30)
  /// How long a connection may be idle, and a request take until it is complete.
  package var idleTimeout = Duration.seconds(30)
  package var accessLog = LogForm.no
  /// Where requests are logged; empty for standard output.
  package var accessLogFile = ""
  /// Of the answers that are no failures, one of so many is logged.
  package var accessLogSample = 1

  /// The keys of `[HTTP-Gateway]`. All need a restart, during which clients wait at the gateway's sockets.
  package static let keys: [ConfigurationKey<GatewayConfiguration>] = [
    key(
      "Listen", \.listen, .place, "Where the gateway listens: a path, or a port of this machine such as 127.0.0.1:8080."
    ),
    key("Expose", \.expose, .boolean, "Whether Listen may be open to other machines: all must be signed, or a preset."),
    key("Allow", \.allow, .hosts, "Hosts whose pictures need no signature, with their subdomains; * for every host."),
    key(
      "KeyFile", \.keyFile, .path(longest: 4095),
      "The file with the keys of signatures, one on each line; empty for none."),
    key(
      "Presets", \.presets, .presets, "Named forms of pictures, such as thumb:300x200:cover and large:1600x:webp:q80."),
    key("OnlyPresets", \.onlyPresets, .boolean, "Whether a request must name a preset, and may set nothing else."),
    key("Cors", \.cors, .origins, "Origins whose scripts may read pictures, such as https://example.org; * for all."),
    key(
      "Fallback", \.fallback, .fallbacks,
      "Files of pictures shown in place of failures: /path, and preset:/path for one preset."),
    key(
      "FallbackStatus", \.fallbackStatus, .word,
      "The status of a fallback picture: that of the failure (error), or 200."),
    key(
      "Page", \.page, .word, "Who sees the page, its events and the metrics: this machine's browsers (local), all, no."),
    key(
      "TokenFile", \.tokenFile, .path(longest: 4095),
      "The file with the token that a purge needs; empty: nothing is purged over HTTP."),
    key(
      "TrustedProxies", \.trustedProxies, ValueFormat<HTTPPeer.Kind>.words,
      "The peers whose X-Forwarded-For is believed: unix, loopback and network."),
    key(
      "Workers", \.workers, .workers(1...32),
      "How many threads answer requests; auto: one for two processors, and at most four."),
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
    key("AccessLog", \.accessLog, .word, "How requests are logged, each as a line: json, combined, or no."),
    key(
      "AccessLogFile", \.accessLogFile, .path(longest: 4095),
      "The file that requests are logged to; empty for standard output."),
    key(
      "AccessLogSample", \.accessLogSample, .count(1...1_000_000),
      "Log one of so many answers, and each with a status of 500 or more."),
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

  /// Reports `OnlyPresets` without any preset, since such a gateway would refuse everything, pictures for presets that
  /// there are not, and what would open it to strangers.
  package func contradictions(origin: (_ key: String) -> String) -> [String] {
    var problems: [String] = []
    if onlyPresets, presets.isEmpty {
      problems.append(
        "\(origin("HTTP-Gateway.OnlyPresets")): HTTP-Gateway.OnlyPresets=yes leaves nothing to ask for: "
          + "set HTTP-Gateway.Presets, such as thumb:300x200:cover")
    }
    for name in fallback.compactMap(\.preset) where !presets.contains(where: { $0.name == name }) {
      problems.append(
        "\(origin("HTTP-Gateway.Fallback")): HTTP-Gateway.Fallback has a picture for the preset '\(shown(name))', "
          + "which HTTP-Gateway.Presets has not: name one of those, or none")
    }
    if !expose, case .port(let address, let port) = listen, !Place.isLoopback(address) {
      problems.append(
        "\(origin("HTTP-Gateway.Listen")): HTTP-Gateway.Listen=\(listen.text) would be open to other machines: write "
          + "localhost:\(port) or a path, and let a web server take requests from elsewhere, or set "
          + "HTTP-Gateway.Expose=yes")
    }
    if expose, !allow.isEmpty, !onlyPresets {
      problems.append(
        "\(origin("HTTP-Gateway.Allow")): HTTP-Gateway.Allow=\(allow.joined(separator: " ")) would let anybody have any "
          + "form made, with HTTP-Gateway.Expose=yes: leave it empty and have targets signed (HTTP-Gateway.KeyFile), or "
          + "set HTTP-Gateway.OnlyPresets=yes")
    }
    return problems
  }
}

extension ValueFormat where Value == Int? {
  /// A count within limits, or `auto`.
  static func workers(_ limits: ClosedRange<Int>) -> Self {
    let count = ValueFormat<Int>.count(limits)
    return Self { text throws(WrongValue) in
      if text == "auto" { return nil }
      guard decimalNumber(text.utf8) != nil else {
        throw WrongValue("is neither auto nor a number: write auto, or \(limits.lowerBound) to \(limits.upperBound)")
      }
      return try count.parse(text)
    } text: {
      $0.map(count.text) ?? "auto"
    }
  }
}

extension ValueFormat where Value == GatewayConfiguration.Place {
  /// An absolute path, or an address with a port.
  static var place: Self {
    Self { text throws(WrongValue) in
      try GatewayConfiguration.Place(text)
    } text: {
      $0.text
    }
  }
}

extension GatewayConfiguration.Place {
  /// The room for the path in the address of a Unix socket, without the terminating zero.
  private static let longestPath = 107

  /// Reads `/path`, `127.0.0.1:8080` or `[::1]:8080`; `localhost:8080` is the first of these.
  init(_ text: String) throws(WrongValue) {
    if text.hasPrefix("/") {
      self = .unix(try ValueFormat<String>.path(longest: Self.longestPath).parse(text))
      return
    }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]), (1...65_535).contains(port),
      let address = Self.address(String(text[..<colon]))
    else { throw WrongValue("is not a place to listen: write an absolute path, or localhost:8080 or [::1]:8080") }
    self = .port(address: address, port: port)
  }

  /// The form that `init` reads.
  package var text: String {
    switch self {
    case .unix(let path): path
    case .port(let address, let port): address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
  }

  /// The address in a host part: IPv4, or IPv6 in brackets; nil for anything else.
  private static func address(_ host: String) -> String? {
    if host.lowercased() == "localhost" { return "127.0.0.1" }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let address = isBracketed ? String(host.dropFirst().dropLast()) : host
    return isAddress(address, isBracketed ? AF_INET6 : AF_INET) ? address : nil
  }

  fileprivate static func isLoopback(_ address: String) -> Bool {
    guard address.contains(":") else { return address.hasPrefix("127.") }
    return URLHost(named: "[\(address)]") == URLHost(named: "[::1]")
  }
}

extension ValueFormat where Value == [String] {
  /// Names of hosts and addresses, separated by blanks or commas, in lower case; or `*`.
  static var hosts: Self {
    words(inLowerCase: true) { host in
      HostList.takes(host)
        ? nil
        : "which is not a host: write names such as example.org, which stands for its subdomains as well, addresses, or *"
    }
  }

  /// Origins of the web, separated by blanks or commas; or `*`.
  static var origins: Self {
    words { origin in CrossOrigins.advice(on: origin).map { "which is not an origin: \($0)" } }
  }
}

extension ValueFormat where Value == [FallbackFile] {
  /// Absolute paths, separated by blanks, each alone or behind the name of a preset.
  static var fallbacks: Self {
    Self { text throws(WrongValue) in
      var files: [FallbackFile] = []
      for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
        let slash = word.firstIndex(of: "/") ?? word.endIndex
        let name = word[..<slash]
        guard slash < word.endIndex, name.isEmpty || name.last == ":" && name.count > 1 else {
          throw WrongValue("contains '\(shown(String(word)))': write /path, or name:/path with the name of a preset")
        }
        let file = FallbackFile(String(word[slash...]), of: name.isEmpty ? nil : String(name.dropLast()))
        guard !files.contains(where: { $0.preset == file.preset }) else {
          throw WrongValue("has two pictures for \(file.preset ?? "all requests"): leave one out")
        }
        files.append(file)
      }
      return files
    } text: {
      $0.map(\.text).joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == [Preset] {
  /// Presets, separated by blanks, each with a name of its own.
  static var presets: Self {
    Self { text throws(WrongValue) in
      var presets: [Preset] = []
      for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
        let preset: Preset
        do throws(PresetProblem) { preset = try Preset(parsing: String(word)) } catch {
          throw WrongValue("contains '\(shown(String(word)))': \(error.message)")
        }
        guard !presets.contains(where: { $0.name == preset.name }) else {
          throw WrongValue("has two presets with the name \(preset.name): rename one")
        }
        presets.append(preset)
        guard presets.count <= most else { throw WrongValue("has too many presets: write at most \(most)") }
      }
      return presets
    } text: {
      $0.map(\.text).joined(separator: " ")
    }
  }

  private static var most: Int { 256 }
}
