/// A transfer's way along redirects: where it stands, and what it has passed.
struct Route {
  private(set) var url: TransferURL
  private(set) var redirects = 0
  /// Another origin than the first has been on the way. It may have chosen the rest of it, so this
  /// stays true when the way leads back.
  private(set) var hasLeftOrigin = false
  /// A hop went to a public address.
  private(set) var afterPublic = false

  private static let credentials: Set<String> = ["authorization", "cookie", "proxy-authorization"]

  init(to url: TransferURL) {
    self.url = url
  }

  /// Where the redirects have led; nil without any.
  var finalURL: String? { redirects > 0 ? url.text : nil }

  /// The order's headers, as far as the current origin may see them.
  func headers(of order: TransferOrder) -> [HeaderField] {
    guard hasLeftOrigin else { return order.headers }
    return order.headers.filter { field in
      let name = field.name.lowercased()
      return !Self.credentials.contains(name) && !order.credentialNames.contains(name)
    }
  }

  /// Goes on to where the current hop points.
  ///
  /// `address` is where the hop went. A name behind a proxy has none, and counts as public.
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

  /// Behind a proxy only an address that the URL itself spells out can be looked at.
  func check(_ rule: AddressRule) throws(TransferFailure) {
    guard let address = IPAddress(url.host), !rule.permits(address, afterPublic: afterPublic)
    else { return }
    var failure = TransferFailure(.blockedAddress, "\(url.host) may not be asked")
    failure.address = address.description
    throw failure
  }

  private static func tooManyRedirects(_ limit: Int) -> TransferFailure {
    var failure = TransferFailure(.tooManyRedirects, "more than \(limit) redirects")
    failure.limit = limit
    return failure
  }
}
