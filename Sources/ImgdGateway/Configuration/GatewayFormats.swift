import Glibc
import ImgdProgram
import ImgdSystem

extension ValueFormat where Value == GatewayConfiguration.Place {
  /// An absolute path, or a port of this machine.
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

  /// Reads `/path`, `127.0.0.1:8080` or `[::1]:8080`.
  init(_ text: String) throws(WrongValue) {
    if text.hasPrefix("/") {
      self = .unix(try ValueFormat<String>.path(longest: Self.longestPath).parse(text))
      return
    }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = decimalNumber(text.utf8[text.utf8.index(after: colon)...]), (1...65_535).contains(port),
      let address = Self.address(String(text[..<colon]))
    else { throw WrongValue("is not a place to listen: write an absolute path, or 127.0.0.1:8080 or [::1]:8080") }
    guard Self.isLoopback(address) else {
      throw WrongValue(
        "would be open to other machines: write 127.0.0.1:\(port), [::1]:\(port) or a path, and let "
          + "a web server take requests from elsewhere")
    }
    self = .loopback(address: address, port: port)
  }

  /// The form that `init` reads.
  package var text: String {
    switch self {
    case .unix(let path): path
    case .loopback(let address, let port): address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)"
    }
  }

  /// The address in a host part: IPv4, or IPv6 in brackets; nil for anything else.
  private static func address(_ host: String) -> String? {
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let address = isBracketed ? String(host.dropFirst().dropLast()) : host
    return isAddress(address, isBracketed ? AF_INET6 : AF_INET) ? address : nil
  }

  private static func isLoopback(_ address: String) -> Bool {
    guard address.contains(":") else { return address.hasPrefix("127.") }
    return URLHost(named: "[\(address)]") == URLHost(named: "[::1]")
  }
}

extension ValueFormat where Value == [String] {
  /// Names of hosts and addresses, separated by blanks or commas, in lower case; or `*`.
  static var hosts: Self {
    Self { text throws(WrongValue) in
      let hosts = items(of: text).map { $0.lowercased() }
      for host in hosts where !HostList.takes(host) {
        throw WrongValue(
          "contains '\(shown(host))', which is not a host: write names such as example.org, which "
            + "stands for its subdomains as well, addresses, or *")
      }
      return hosts
    } text: {
      $0.joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == [Preset] {
  /// Presets, separated by blanks, each with a name of its own.
  static var presets: Self {
    Self { text throws(WrongValue) in
      var presets: [Preset] = []
      for word in text.split(whereSeparator: { $0 == " " || $0 == "\t" }) {
        let preset = try Preset(configured: String(word))
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

extension Preset {
  fileprivate init(configured word: String) throws(WrongValue) {
    do { self = try Preset(parsing: word) } catch { throw WrongValue("contains '\(shown(word))': \(error.message)") }
  }
}
