// What the operator knows of single origins: the sections `[Origin PATTERN]`.
//
// Of the sections that match, the most exact applies, alone: first a host before the ends of hosts, then the longer end,
// then a scheme with its port, then a port, then neither. Without a section a look-up is one comparison, and with any
// number of them it is a look into a table for each label of the host.

package import ImgdCache
import ImgdTransfer

/// The origins that a section is about.
package struct OriginPattern: Hashable, Sendable {
  /// In lower case; an IPv6 address in brackets; the bucket, where it is about one.
  package let host: String
  /// Whether it is about the hosts below that one, at any depth, and not about itself.
  package let isOfSubdomains: Bool
  /// Nil for http and https.
  package let scheme: CanonicalURL.Scheme?
  /// Nil for every port.
  package let port: Int?

  package init(host: String, isOfSubdomains: Bool = false, scheme: CanonicalURL.Scheme? = nil, port: Int? = nil) {
    self.host = host
    self.isOfSubdomains = isOfSubdomains
    self.scheme = scheme
    self.port = port
  }

  /// Whether it is about a bucket.
  package var isOfBucket: Bool { scheme == .s3 }

  fileprivate func admits(_ url: CanonicalURL) -> Bool {
    (scheme.map { $0 == url.scheme } ?? (url.scheme != .s3)) && (port == nil || port == url.port)
  }

  /// Of two patterns with the same host, the greater one is more exact.
  fileprivate var exactness: Int { scheme != nil ? 2 : port != nil ? 1 : 0 }
}

/// A host as its downloads are counted: the same name may stand in several sections, which tell schemes apart.
struct OriginHost: Hashable {
  let section: OriginPattern?
  /// With its port where the section is about that alone.
  let name: String
}

/// The rules of the sections, by the origins of URLs.
final class OriginRules {
  private typealias Section = (pattern: OriginPattern, origin: Configuration.Origin)

  /// No name of a host is longer. In a longer one nobody looks for ends, of which it might have thousands.
  private static let longestHost = 253

  private var origins: [OriginPattern: Configuration.Origin] = [:]
  /// The sections about a host and about the hosts below one, the most exact first.
  private var hosts: [String: [Section]] = [:]
  private var ends: [String: [Section]] = [:]
  private var signers: [OriginPattern: RequestSigner] = [:]

  init(_ origins: [OriginPattern: Configuration.Origin]) { apply(origins) }

  /// Takes new sections; returns whether the URLs of keys may have changed.
  @discardableResult func apply(_ origins: [OriginPattern: Configuration.Origin]) -> Bool {
    let before = self.origins
    self.origins = origins
    (hosts, ends) = ([:], [:])
    let sections = origins.map { (pattern: $0.key, origin: $0.value) }
    for section in sections.sorted(by: { $0.pattern.exactness > $1.pattern.exactness }) {
      if section.pattern.isOfSubdomains {
        ends[section.pattern.host, default: []].append(section)
      } else {
        hosts[section.pattern.host, default: []].append(section)
      }
    }
    signers = signers(for: origins)
    return before.mapValues(\.key) != origins.mapValues(\.key)
  }

  var isEmpty: Bool { origins.isEmpty }

  /// What the section that applies to a URL says; nil without one.
  subscript(url: CanonicalURL) -> Configuration.Origin? { section(for: url)?.origin }

  /// What signs the requests for an object; nil for other URLs, and where no section is about its bucket.
  func signer(for url: CanonicalURL) -> RequestSigner? {
    guard url.scheme == .s3 else { return nil }
    return section(for: url).flatMap { signers[$0.pattern] }
  }

  /// A signer knows where its bucket was found, so it is kept for as long as its section says the same.
  private func signers(for origins: [OriginPattern: Configuration.Origin]) -> [OriginPattern: RequestSigner] {
    var signers: [OriginPattern: RequestSigner] = [:]
    for (pattern, origin) in origins where pattern.isOfBucket {
      guard let credentials = origin.credentials?.value else { continue }
      let place = BucketPlace(
        bucket: pattern.host, endpoint: origin.endpoint, region: origin.region ?? BucketPlace.usualRegion)
      let former = self.signers[pattern].flatMap { $0.isFor(place, with: credentials) ? $0 : nil }
      signers[pattern] = former ?? RequestSigner(credentials, for: place)
    }
    return signers
  }

  private func section(for url: CanonicalURL) -> Section? {
    guard !isEmpty else { return nil }
    let host = url.host.withoutRoot
    if let section = hosts[host]?.first(where: { $0.pattern.admits(url) }) { return section }
    guard !ends.isEmpty, host.utf8.count <= Self.longestHost else { return nil }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      if let section = ends[String(rest)]?.first(where: { $0.pattern.admits(url) }) { return section }
    }
    return nil
  }

  /// The name by which downloads from the origin of a URL are counted: its host, with the port where a section is about
  /// that alone, or its bucket.
  func host(of url: CanonicalURL) -> String { place(of: url).name }

  /// That name, with the pattern of the section that applies to the URL.
  func place(of url: CanonicalURL) -> OriginHost {
    let pattern = section(for: url)?.pattern
    if url.scheme == .s3 { return OriginHost(section: pattern, name: url.scheme.beginning + url.host) }
    let host = url.host.withoutRoot
    return OriginHost(section: pattern, name: pattern?.port == nil ? host : "\(host):\(url.port)")
  }

  /// The patterns of all sections.
  var patterns: some Collection<OriginPattern> { origins.keys }

  /// Why a file of a section cannot be used as it is now; nil where each can, or there is none.
  func fileProblem(of pattern: OriginPattern) -> String? {
    origins[pattern]?.headers?.problem ?? origins[pattern]?.credentials?.problem
  }

  /// The URL of the key under which an answer for a URL is kept.
  func key(of url: CanonicalURL) -> CanonicalURL { self[url]?.key?.key(of: url) ?? url }

  /// Whether something under that URL can be found by a request.
  func isKey(_ url: CanonicalURL) -> Bool { isEmpty || key(of: url) == url }

  /// Whether a refusal may be about the URL that was sent, and not about what it stands for.
  func mayRefuse(_ url: CanonicalURL) -> Bool { self[url]?.key != nil }
}

extension String {
  /// A host without the dot that stands for the root of all names: it is the same host with it.
  package var withoutRoot: String { utf8.count > 1 && utf8.last == UInt8(ascii: ".") ? String(dropLast()) : self }
}
