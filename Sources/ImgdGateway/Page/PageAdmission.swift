internal import CCrypto
package import ImgdProgram

/// The rule by which requests for the page are carried out or refused.
struct PageAdmission {
  let access: GatewayConfiguration.PageAccess
  /// Without a token nothing is purged.
  let token: PurgeToken?

  /// Throws the reason why a request is not carried out.
  func check(_ route: PageRoute, _ exchange: any HTTPExchange) throws(GatewayError) {
    if !route.isOpen, !mayMeasure(route, exchange) { try checkVisitor(exchange) }
    guard route.takes(exchange.method) else {
      throw GatewayError(405, "method_not_allowed", "\(route.rawValue) takes \(route.methods) and nothing else")
    }
    // Whether the page itself, or a person, has sent the request; programs other than browsers do not say.
    let isOfThisSite = exchange.fields("Sec-Fetch-Site").allSatisfy { ["same-origin", "none"].contains($0) }
    guard !route.isForThisSiteAlone || isOfThisSite else {
      throw GatewayError(
        403, "not_allowed", "another site has sent this request, and \(route.rawValue) is for the page")
    }
    if route == .purge { try checkToken(exchange) }
  }

  /// Whether it is for the metrics, by who has the token: Prometheus is on another machine, and has no use for the page.
  private func mayMeasure(_ route: PageRoute, _ exchange: any HTTPExchange) -> Bool {
    route == .metrics && token?.isIn(exchange.fields("Authorization")) == true
  }

  private func checkVisitor(_ exchange: any HTTPExchange) throws(GatewayError) {
    switch access {
    case .all: return
    case .local where LocalRequest.isLocal(exchange): return
    case .local:
      throw GatewayError(
        404, "not_found", "the page is for requests to localhost that no proxy has forwarded: see Page= in imgd.conf(5)"
      )
    case .no: throw GatewayError(404, "not_found", "there is no page here: see Page= in imgd.conf(5)")
    }
  }

  private func checkToken(_ exchange: any HTTPExchange) throws(GatewayError) {
    guard let token else {
      throw GatewayError(403, "not_allowed", "nothing is purged over HTTP: see TokenFile= in imgd.conf(5)")
    }
    guard token.isIn(exchange.fields("Authorization")) else {
      throw GatewayError(403, "not_allowed", "a purge needs Authorization: Bearer, and the token of TokenFile=")
    }
  }
}

// A browser on this machine may have a page of any site open, and that site may give a name of its own the address of
// this machine. To the browser the gateway is then that site. Its requests are recognised by their host, which is the
// site's name. Requests that a proxy has forwarded come from anywhere, whatever host they name, and so do those of
// other machines.

/// The rule by which a request counts as one of this machine.
enum LocalRequest {
  private static let marksOfProxies = ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"]

  static func isLocal(_ exchange: any HTTPExchange) -> Bool {
    let hosts = exchange.fields("Host")
    guard exchange.peer.kind != .network, hosts.count <= 1, marksOfProxies.allSatisfy({ exchange.fields($0).isEmpty })
    else { return false }
    return hosts.first.map { $0.isEmpty || isThisMachine($0) } ?? true
  }

  /// Whether a name, with or without a port, can only mean this machine.
  private static func isThisMachine(_ authority: String) -> Bool {
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

/// The word that a purge over HTTP needs.
package struct PurgeToken: Sendable {
  /// The fewest bytes that cannot be guessed.
  static let shortest = 16
  static let longest = 1_024

  private let bytes: [UInt8]

  /// Takes the only line of a file's contents.
  package init(_ contents: [UInt8]) throws(SecretFileProblem) {
    let blanks: [UInt8] = [0x20, 0x09, 0x0d, 0x0a]
    var line = contents[...]
    while let last = line.last, blanks.contains(last) { line.removeLast() }
    guard (Self.shortest...Self.longest).contains(line.count), line.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw SecretFileProblem(
        "the file of HTTP-Gateway.TokenFile must have one line of \(Self.shortest) to "
          + "\(Self.longest) letters, digits and signs, without spaces, as openssl rand -hex 32 writes")
    }
    bytes = Array(line)
  }

  /// Whether the values of `Authorization` are this token, compared in a time that reveals nothing about it.
  func isIn(_ fields: [String]) -> Bool {
    guard fields.count == 1, let field = fields.first else { return false }
    let (scheme, given) = field[...].cut(at: UInt8(ascii: " "))
    guard scheme.lowercased() == "bearer", let given = given.map({ Array($0.utf8) }), given.count == bytes.count else {
      return false
    }
    // Both have the same length.
    return unsafe CRYPTO_memcmp(given, bytes, bytes.count) == 0
  }
}
