/// The hosts whose pictures may be asked for without a signature.
package struct HostList: Sendable {
  private let takesAll: Bool
  private let names: Set<String>

  /// A name stands for itself and all names below it, and `*` for every host; others are left out.
  package init(_ names: [String]) {
    takesAll = names.contains("*")
    self.names = Set(names.compactMap { URLHost(named: $0)?.name })
  }

  /// Whether a word of `Allow=` is `*` or a host without a port.
  package static func takes(_ name: String) -> Bool { name == "*" || URLHost(named: name) != nil }

  /// Whether the list has the host, or a domain above it.
  package func contains(_ host: URLHost) -> Bool {
    if takesAll || names.contains(host.name) { return true }
    guard !host.isAddress else { return false }
    var rest = host.name[...]
    while let parent = rest.cut(at: UInt8(ascii: ".")).rest {
      if names.contains(String(parent)) { return true }
      rest = parent
    }
    return false
  }
}
