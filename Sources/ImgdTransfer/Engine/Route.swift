/// A transfer's way along redirects: the current hop, and facts about the earlier ones.
struct Route {
  private(set) var url: TransferURL
  private(set) var redirects = 0
  /// Whether the route has passed another origin than the first. That origin may have chosen the rest
  /// of the route, so this stays true when the route leads back.
  private(set) var hasLeftOrigin = false
  /// Whether a hop went to a public address.
  private(set) var afterPublic = false

  /// `Referer` is none, but names a page of the first origin that no other needs to know.
  private static let confidential: Set<String> = [
    "authorization", "cookie", "proxy-authorization", "referer",
  ]

  init(to url: TransferURL) {
    self.url = url
  }

  /// The URL after redirects; nil without any.
  var finalURL: String? { redirects > 0 ? url.text : nil }

  /// Those headers of the order that the current origin may see.
  func headers(of order: TransferOrder) -> [HeaderField] {
    guard hasLeftOrigin else { return order.headers }
    return order.headers.filter { field in
      let name = field.name.lowercased()
      return !Self.confidential.contains(name) && !order.credentialNames.contains(name)
    }
  }

  /// Goes on to the location that the current hop redirects to.
  ///
  /// `address` is that of the current hop; a name resolved by a proxy has none, and counts as public.
  mutating func follow(
    _ location: String, from address: IPAddress?, atMost limit: Int
  ) throws(TransferFailure) {
    guard redirects < limit else { throw Self.tooManyRedirects(limit) }
    let next = try url.following(location)
    redirects += 1
    hasLeftOrigin = hasLeftOrigin || next.origin != url.origin
    afterPublic = afterPublic || address?.isPublic ?? true
    url = next
  }

  /// Behind a proxy only an address that is written in the URL can be checked.
  func check(_ rule: AddressRule) throws(TransferFailure) {
    guard let address = IPAddress(url.host), !rule.permits(address, afterPublic: afterPublic)
    else { return }
    var failure = TransferFailure(
      .blockedAddress, "\(url.host) is an address that imgd may not connect to")
    failure.address = address.description
    throw failure
  }

  private static func tooManyRedirects(_ limit: Int) -> TransferFailure {
    var failure = TransferFailure(.tooManyRedirects, "more than \(limit) redirects")
    failure.limit = limit
    return failure
  }
}
