import ImgdFleet
import ImgdProgram
import ImgdSystem

extension ValueFormat where Value == String {
  /// Where a server of a fleet listens, as `FleetSettings.Server` reads it.
  static var fleetServer: Self {
    Self { text throws(WrongValue) in
      _ = try FleetSettings.Server(text)
      return text
    } text: {
      $0
    }
  }
}

extension ValueFormat where Value == [String] {
  /// Servers of a fleet, separated by blanks: there are commas in the names of some.
  static var fleetServers: Self {
    Self { text throws(WrongValue) in
      let names = text.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard names.count <= FleetSettings.mostPictureServers else {
        throw WrongValue("names \(names.count) servers: write at most \(FleetSettings.mostPictureServers)")
      }
      var servers: Set<String> = []
      for name in names {
        let server: FleetSettings.Server
        do throws(WrongValue) { server = try FleetSettings.Server(name) } catch {
          throw WrongValue("contains '\(shown(name))', which \(error.complaint)")
        }
        guard servers.insert(server.nameInAnyCase).inserted else {
          throw WrongValue("contains '\(shown(name))' twice: write each server once")
        }
      }
      return names
    } text: {
      $0.joined(separator: " ")
    }
  }
}

extension FleetSettings.Server {
  /// Names of hosts have no case, paths do.
  fileprivate var nameInAnyCase: String { if case .unix = self { description } else { description.lowercased() } }

  /// The room for the path in the address of a Unix socket, without the terminating zero.
  private static let longestPath = 107
  private static let sentinelPort = 26_379
  private static let mostSentinels = 8

  /// Reads `unix:/path`, `host:port`, `rediss://host:port` or `sentinel://host:port,host:port/master`; an IPv6 address is
  /// in brackets.
  init(_ text: String) throws(WrongValue) {
    if let path = Self.rest(of: text, after: "unix:") {
      self = .unix(path: try ValueFormat<String>.path(longest: Self.longestPath).parse(path))
    } else if let rest = Self.rest(of: text, after: "sentinel://") {
      self = try Self.sentinels(rest)
    } else if let endpoint = try Self.endpoint(Self.rest(of: text, after: "rediss://") ?? text) {
      self = .tcp(host: endpoint.host, port: endpoint.port, isSecure: text.hasPrefix("rediss://"))
    } else {
      throw WrongValue(
        "is not a server: write unix:/path, host:port, [IPv6 address]:port, rediss://host:port or "
          + "sentinel://host,host,host/master")
    }
  }

  private static func rest(of text: String, after scheme: String) -> String? {
    text.hasPrefix(scheme) ? String(text.dropFirst(scheme.count)) : nil
  }

  private static func sentinels(_ text: String) throws(WrongValue) -> Self {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, isMaster(parts[1]) else {
      throw WrongValue("names no master: write sentinel://host,host,host/master, with its name of A-Z a-z 0-9 . _ -")
    }
    var endpoints: [FleetSettings.Endpoint] = []
    for part in parts[0].split(separator: ",", omittingEmptySubsequences: false) {
      guard let endpoint = try endpoint(String(part), orPort: sentinelPort), endpoints.count < mostSentinels else {
        throw WrongValue(
          "is not a list of Sentinels: write sentinel://host:port,host:port/master, with at most \(mostSentinels) of them"
        )
      }
      guard !endpoints.contains(endpoint) else {
        throw WrongValue("names the Sentinel \(endpoint) twice: write it once")
      }
      endpoints.append(endpoint)
    }
    return .sentinel(endpoints, master: parts[1])
  }

  private static func isMaster(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { isLetterOrDigit($0) || "._-".utf8.contains($0) }
  }

  /// Reads `host:port`, or `host` alone where there is a usual port.
  private static func endpoint(
    _ text: String, orPort usual: Int? = nil
  ) throws(WrongValue) -> FleetSettings.Endpoint? {
    let colon = text.hasSuffix("]") ? nil : text.utf8.lastIndex(of: UInt8(ascii: ":"))
    let host = colon.map { String(text[..<$0]) } ?? text
    guard let port = colon.map({ decimalNumber(text.utf8[text.utf8.index(after: $0)...]) }) ?? usual, !host.isEmpty,
      isHost(host)
    else { return nil }
    guard 1...65_535 ~= port else { throw WrongValue("has the port \(port): ports are 1 to 65535") }
    return FleetSettings.Endpoint(host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host, port: port)
  }
}
