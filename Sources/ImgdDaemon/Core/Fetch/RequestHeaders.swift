import ImgdCache
import ImgdTransfer
import ImgdWire

/// A request's extra headers, looked at as part of an identity.
struct RequestHeaders {
  private static let credentials: Set<String> = ["authorization", "cookie"]

  /// Lower-case names in order, so that equal sets are equal.
  let sorted: [HeaderField]
  /// Whose credentials the answer may depend on; nil for a request without any.
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
