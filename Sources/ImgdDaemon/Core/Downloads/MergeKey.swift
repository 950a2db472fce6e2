import ImgdCache
import ImgdTransfer
import ImgdWire

/// The identity of a transfer: requests that agree in it may share one, if their policy allows it.
struct MergeKey: Hashable {
  let key: CacheKey
  /// Extra request headers, by lower-case name: an origin may answer differently to each set.
  let headers: [HeaderField]

  /// Whether the client asks under a condition of its own: then 304 says nothing of what is cached.
  var hasCondition: Bool { headers.contains { $0.name.hasPrefix("if-") } }

  /// The headers that the clients sent along.
  var sent: HeaderList { headers.map { ($0.name, $0.value) } }
}

/// A request's extra headers as part of that identity.
struct RequestHeaders {
  private static let credentials: Set<String> = ["authorization", "cookie"]

  /// Lower-case names in order, so that equal sets are equal.
  let sorted: [HeaderField]
  /// The credentials that the answer may depend on; nil for a request without any.
  let scope: CredentialScope?

  init(_ headers: [RequestHeader], uid: UInt32) {
    sorted = headers.map { HeaderField($0.name.lowercased(), $0.value) }
      .sorted { $0.name < $1.name }
    let secrets = sorted.filter { Self.credentials.contains($0.name) }
    scope =
      secrets.isEmpty
      ? nil
      : CredentialScope(
        uid: uid, credentials: secrets.map { ($0.name, $0.value) })
  }
}
