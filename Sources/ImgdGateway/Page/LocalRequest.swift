// A browser on this machine may have a page of any site open, and that site may give a name of its own the address of
// this machine. To the browser the gateway is then that site. Its requests are recognised by their host, which is the
// site's name. Requests that a proxy has forwarded come from anywhere, whatever host they name.

/// The rule by which a request counts as one of this machine.
enum LocalRequest {
  private static let marksOfProxies = ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"]

  static func isLocal(_ exchange: any HTTPExchange) -> Bool {
    let hosts = exchange.fields("Host")
    guard hosts.count <= 1, marksOfProxies.allSatisfy({ exchange.fields($0).isEmpty }) else { return false }
    return hosts.first.map { $0.isEmpty || isThisMachine($0) } ?? true
  }

  /// Whether the page itself, or a person, has sent the request; programs other than browsers do not say.
  static func isOfThisSite(_ exchange: any HTTPExchange) -> Bool {
    exchange.fields("Sec-Fetch-Site").allSatisfy { ["same-origin", "none"].contains($0) }
  }

  /// Whether a name, with or without a port, can only mean this machine.
  static func isThisMachine(_ authority: String) -> Bool {
    if authority.hasPrefix("[") {
      return authority == "[::1]" || authority.hasPrefix("[::1]:") && isPort(authority.dropFirst(6))
    }
    let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 1 || parts.count == 2 && isPort(parts[1]) else { return false }
    let host = parts[0].lowercased()
    return host == "localhost" || host.hasSuffix(".localhost") || isLoopback(host)
  }

  private static func isPort(_ text: Substring) -> Bool { text.utf8.allSatisfy(isDigit) && UInt16(text) != nil }

  /// Whether a text is an address of 127.0.0.0/8, in four decimal numbers.
  private static func isLoopback(_ host: String) -> Bool {
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    guard numbers.count == 4, numbers[0] == "127" else { return false }
    return numbers.allSatisfy { $0.utf8.allSatisfy(isDigit) && UInt8($0) != nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
