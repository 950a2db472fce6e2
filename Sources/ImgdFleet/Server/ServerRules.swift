internal import ImgdSystem

/// Judges by its answers to `INFO`, which need no further rights, whether a server is suitable.
struct ServerRules {
  private static let oldest = 7

  private var facts: [Substring: Substring] = [:]

  /// Takes the sections in any order.
  init(_ sections: [String]) {
    for section in sections {
      for line in section.utf8.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
        facts[Substring(line[..<colon])] = Substring(line[line.index(after: colon)...])
      }
    }
  }

  /// What is wrong with the server; nil for one that can be read and written.
  var trouble: FleetTrouble? {
    if let version = facts["redis_version"], let major = Int(version.prefix { $0 != "." }), major < Self.oldest {
      return FleetTrouble(.refused, "its version is \(shown(version)); Redis 7.0 or Valkey 7.2 is needed")
    }
    guard let policy = facts["maxmemory_policy"], facts["redis_version"] != nil else {
      return FleetTrouble(.refused, "its answer to INFO names no version or no maxmemory_policy")
    }
    guard policy.hasPrefix("volatile-") else {
      return FleetTrouble(
        .refused,
        "its maxmemory-policy is \(shown(policy)), with which purges would be lost or nothing be kept: "
          + "set maxmemory-policy volatile-lfu")
    }
    if facts["role"] == "slave" { return FleetTrouble(.readOnly, "it is a replica: name its master in Fleet.Server=") }
    return nil
  }

  private func shown(_ text: Substring) -> String { printable(String(text), longest: 40) }
}
