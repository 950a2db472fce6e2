import ImgdCache
import ImgdTransfer

/// How each origin is reached: directly, or through a proxy.
struct ProxyRules {
  private let origins: OriginRules
  /// The proxy of the network, and the origins that it is not for.
  private let usual: String?
  private let exceptions: OriginRules

  init(_ network: Configuration.Network, origins: OriginRules) {
    self.origins = origins
    usual = network.proxy
    var direct = Configuration.Origin()
    direct.proxy = .some(nil)
    exceptions = OriginRules(Dictionary(network.noProxy.map { ($0, direct) }) { first, _ in first })
  }

  /// Whether there is a proxy for origins that no section is about.
  var hasUsual: Bool { usual != nil }

  /// The URL of the proxy for a URL; nil for none.
  func proxy(for url: CanonicalURL) -> String? {
    if let chosen = origins[url]?.proxy { return chosen }
    return usual == nil || exceptions[place(of: url)] != nil ? nil : usual
  }

  /// The host to which a connection is made for a URL: its own, that of a proxy, or the endpoint of a bucket.
  func contact(for url: CanonicalURL) -> String {
    guard let proxy = proxy(for: url), let slashes = proxy.firstRange(of: "//"), let colon = proxy.lastIndex(of: ":")
    else { return place(of: url).host }
    return String(proxy[slashes.upperBound..<colon])
  }

  /// Where the bucket is, for the URL of an object, and otherwise the URL itself.
  private func place(of url: CanonicalURL) -> CanonicalURL {
    guard let place = origins.signer(for: url)?.place else { return url }
    return (try? CanonicalURL.parse(origins[url]?.endpoint?.text ?? "https://\(place.host)")) ?? url
  }
}
