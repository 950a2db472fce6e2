/// Separates what was fetched with credentials: by user, and by the credentials themselves.
///
/// The credentials are not kept, only a digest of 128 bits under a secret that this process drew.
package struct CredentialScope: Hashable, Sendable {
  private static let secrets = (KeyHasher.randomSeed(), KeyHasher.randomSeed())

  package let uid: UInt32
  private let digest: (UInt64, UInt64)

  /// `credentials` are the values of Authorization and Cookie, under lower-case names.
  package init(uid: UInt32, credentials: HeaderList) {
    self.uid = uid
    digest = (Self.digest(of: credentials, seed: Self.secrets.0), Self.digest(of: credentials, seed: Self.secrets.1))
  }

  private static func digest(of credentials: HeaderList, seed: KeyHasher.Seed) -> UInt64 {
    var hasher = KeyHasher(seed)
    for (name, value) in credentials.sorted(by: { ($0.name, $0.value) < ($1.name, $1.value) }) {
      hasher.combine(name)
      hasher.combine(value)
    }
    return hasher.finish()
  }

  package static func == (left: CredentialScope, right: CredentialScope) -> Bool {
    left.uid == right.uid && left.digest == right.digest
  }

  /// The digest is a hash already.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(uid)
    hasher.combine(digest.0)
  }

  /// Makes the scope part of a key's hash.
  func hash(into hasher: inout KeyHasher) {
    hasher.combine(digest.0)
    hasher.combine(UInt64(uid))
  }
}
