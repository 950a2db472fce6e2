// Which parameters of a query decide what a URL stands for: those of a signature do not.
//
// What is left keeps its bytes and its order, so two URLs that differ in anything else never become one. Taking the
// parameters out a second time changes nothing: the URL of a key has itself as its key.

internal import ImgdText

/// The parameters of a query that tell one picture from another.
package struct QueryRule: Sendable, Equatable {
  /// Whether the names are those that do not count, or those that alone do.
  package enum Kind: String, Sendable, CaseIterable { case without, only }

  package let kind: Kind
  /// The names as they were written; a `*` at the end stands for any ending.
  package let names: [String]
  private let exact: Set<[UInt8]>
  private let beginnings: [[UInt8]]

  package init(_ kind: Kind, _ names: [String]) {
    self.kind = kind
    self.names = names
    let isBeginning = { (name: String) in name.utf8.last == UInt8(ascii: "*") }
    exact = Set(names.filter { !isBeginning($0) }.map { PercentEncoding.decoded(Array($0.utf8)[...]) })
    beginnings = names.filter(isBeginning).map { PercentEncoding.decoded(Array($0.utf8.dropLast())[...]) }
  }

  /// The URL of the key of a picture, from one under which it is asked for.
  package func key(of url: CanonicalURL) -> CanonicalURL {
    let bytes = Array(url.text.utf8)
    guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return url }
    let parameters = bytes[(mark + 1)...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    let kept = parameters.filter { isKept(PercentEncoding.decoded($0.prefix { $0 != UInt8(ascii: "=") })) }
    guard kept.count < parameters.count else { return url }
    let query = kept.joined(separator: [UInt8(ascii: "&")])
    let end = kept.isEmpty ? mark : mark + 1
    return CanonicalURL(canonical: String(decoding: bytes[..<end] + Array(query), as: UTF8.self))
  }

  private func isKept(_ name: [UInt8]) -> Bool {
    let isNamed = exact.contains(name) || beginnings.contains { name.starts(with: $0) }
    return isNamed == (kind == .only)
  }
}
