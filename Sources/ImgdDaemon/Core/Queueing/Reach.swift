/// What can be reached of the network: everything, or without a route this machine and its links alone.
struct Reach {
  private(set) var isOffline = false
  /// How often the last route has gone.
  private(set) var outages = 0

  /// Notes that the last route has gone, or that there is one again; false where that was known.
  mutating func change(isOffline: Bool) -> Bool {
    guard isOffline != self.isOffline else { return false }
    self.isOffline = isOffline
    if isOffline { outages += 1 }
    return true
  }

  /// Whether a connection to a host can be made, by its name as URLs have it.
  func includes(_ host: @autoclosure () -> String) -> Bool { !isOffline || Self.isNear(host()) }

  /// Whether a host is this machine, or on one of its links, whatever its routes are.
  private static func isNear(_ host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
    let isAddress = host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    if isAddress { return host.hasPrefix("127.") || host.hasPrefix("169.254.") }
    // fe80::/10
    let digit = host.utf8.dropFirst(3).first
    return host.hasPrefix("[fe") && digit.map { Array("89ab".utf8).contains($0) } == true
  }
}
