import ImgdCache
import ImgdTransfer
import ImgdWire

/// The identity of a transfer: requests that agree in it may share one, if their policy allows it.
///
/// Bytes decide. Headers may have 60 KB, and a table hashes a key each time that it is looked for: they are
/// hashed once.
struct MergeKey: Hashable {
  let key: CacheKey
  /// Extra request headers, by lower-case name: an origin may answer differently to each set.
  let headers: [HeaderField]
  /// Those of them that are credentials, which no other origin may see.
  let credentialNames: Set<String>
  private let headersHash: Int

  init(key: CacheKey, headers: [HeaderField], credentialNames: Set<String> = []) {
    self.key = key
    self.headers = headers
    self.credentialNames = credentialNames
    var hasher = Hasher()
    for header in headers {
      hashBytes(of: header.name, into: &hasher)
      hashBytes(of: header.value, into: &hasher)
    }
    headersHash = hasher.finalize()
  }

  static func == (left: MergeKey, right: MergeKey) -> Bool {
    left.headersHash == right.headersHash && left.key == right.key
      && left.credentialNames == right.credentialNames
      && left.headers.elementsEqual(right.headers) {
        sameBytes($0.name, $1.name) && sameBytes($0.value, $1.value)
      }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(headersHash)
  }

  /// Whether the client asks under a condition of its own: then 304 says nothing of what is cached.
  var hasCondition: Bool { headers.contains { $0.name.hasPrefix("if-") } }

  /// The headers that the clients sent along.
  var sent: HeaderList { headers.map { ($0.name, $0.value) } }
}

extension MergeKey {
  /// The identity of a request that is not plain, or whose picture is not known to be there.
  ///
  /// `digest` is that of the key, where it has been computed.
  init(
    _ request: FetchRequest, _ url: CanonicalURL, uid: UInt32, credentials: CredentialNames,
    digest: KeyDigest?
  ) {
    let headers = request.headers.map { HeaderField($0.name.lowercased(), $0.value) }
      .sorted { $0.name < $1.name }
    let secrets = headers.filter { credentials.contains($0.name) }.map { ($0.name, $0.value) }
    let names = Set(secrets.map(\.0))
    let others = headers.filter { !names.contains($0.name) }.map { ($0.name, $0.value) }
    let variant = KeyVariant(identifier: request.identifier, fields: others, uid: uid)
    let scope = secrets.isEmpty ? nil : CredentialScope(uid: uid, credentials: secrets)
    let key =
      if let digest, headers.isEmpty {
        CacheKey(
          url: url, identifier: request.identifier, variant: variant, knownDigest: digest)
      } else {
        CacheKey(url: url, identifier: request.identifier, variant: variant, scope: scope)
      }
    self.init(key: key, headers: headers, credentialNames: names)
  }
}
