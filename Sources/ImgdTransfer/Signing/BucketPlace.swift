internal import ImgdText

/// Where a bucket is asked for its objects: at an endpoint of its own, or at AWS's host for it in a region.
package struct BucketPlace: Sendable, Equatable {
  /// The region of services that have one alone, and the one that AWS's names without a region lead to.
  package static let usualRegion = "us-east-1"

  package let bucket: String
  /// The region that requests are signed for.
  package private(set) var region: String
  /// A service other than AWS, where the bucket is the first part of paths.
  private let endpoint: BucketEndpoint?
  /// Another of AWS's hosts for the bucket, which it names for as long as the usual one does not know the bucket.
  private var substitute: String?

  /// Without an endpoint the bucket is AWS's.
  package init(bucket: String, endpoint: BucketEndpoint? = nil, region: String = usualRegion) {
    precondition(
      BucketName.problem(of: bucket) == nil && Self.isRegion(region), "names are checked where they are read")
    self.bucket = bucket
    self.endpoint = endpoint
    self.region = region
  }

  /// Whether a text may be the name of a region. Those are parts of names of hosts, so nothing else may be in one.
  package static func isRegion(_ text: some StringProtocol) -> Bool {
    (1...32).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 &- UInt8(ascii: "a") < 26 || decimalValue($0) != nil || $0 == UInt8(ascii: "-") }
  }

  // MARK: URLs

  /// The URL under which an object is requested here.
  func url(of object: ObjectURL) throws(TransferFailure) -> TransferURL {
    precondition(object.bucket == bucket, "a signer serves its own bucket alone")
    return try TransferURL(origin + (isInPath ? "/\(bucket)" : "") + object.target, keepingPath: true)
  }

  /// AWS's certificates are for names with one label in front.
  private var isInPath: Bool { endpoint != nil || bucket.utf8.contains(UInt8(ascii: ".")) }

  private var origin: String { endpoint?.text ?? "https://\(host)" }

  /// The host that is connected to.
  package var host: String { endpoint?.host ?? substitute ?? "\(hostPrefix)s3.\(region).\(domain)" }

  private var hostPrefix: String { isInPath ? "" : "\(bucket)." }

  private var domain: String { region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com" }

  // MARK: Moves

  /// Whether the place holds for good.
  var isLasting: Bool { substitute == nil }

  /// Where an answer says that the bucket is, if it is elsewhere.
  func moved(by head: HeadCollector) -> BucketPlace? {
    let named = head.first("x-amz-bucket-region").flatMap { Self.isRegion($0) ? $0 : nil }
    switch head.status {
    case 301, 400: return named == region ? nil : named.map { moved(to: $0, substitute: nil) }
    case 307:
      guard let host = head.location.flatMap(substituteHost) else { return nil }
      return moved(to: named ?? regionLabel(of: host) ?? region, substitute: host)
    default: return nil
    }
  }

  private func moved(to region: String, substitute: String?) -> BucketPlace {
    var place = self
    place.region = region
    place.substitute = substitute
    return place
  }

  /// The host of a location, if it is another of AWS's for this bucket. Nobody else may have a signature.
  private func substituteHost(_ location: String) -> String? {
    guard endpoint == nil, let url = try? TransferURL(location), url.isEncrypted, url.port == "443",
      regionLabel(of: url.host) != nil, url.host != substitute
    else { return nil }
    return url.host
  }

  /// The region in a host's name, like `bucket.s3.REGION.amazonaws.com`, or `s3-REGION` as it was once.
  private func regionLabel(of host: String) -> String? {
    guard host.hasPrefix("\(hostPrefix)s3"), host.hasSuffix(".\(domain)") else { return nil }
    let middle = host.dropFirst(hostPrefix.utf8.count + 2).dropLast(domain.utf8.count + 1)
    guard let separator = middle.first else { return Self.usualRegion }
    let label = middle.dropFirst()
    return ".-".contains(separator) && Self.isRegion(label) ? String(label) : nil
  }
}

/// A service other than AWS that has buckets, by its scheme, host and port.
package struct BucketEndpoint: Sendable, Equatable {
  /// The URL of the service, without a path.
  package let text: String
  let host: String

  /// Nil for a text that is no such URL.
  package init?(_ text: String) {
    guard let url = try? TransferURL(text), url.target == "/" else { return nil }
    host = url.host
    self.text = (url.isEncrypted ? "https://" : "http://") + url.hostField
  }
}
