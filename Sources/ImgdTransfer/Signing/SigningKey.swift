internal import CCrypto

/// What a signing key is good for.
struct SigningScope: Equatable {
  let day: Substring
  let region: String
  var service = "s3"

  var text: String { "\(day)/\(region)/\(service)/aws4_request" }
}

/// The key that is derived from a secret for one scope.
struct SigningKey {
  let scope: SigningScope
  private let key: [UInt8]

  init(secret: String, for scope: SigningScope) {
    self.scope = scope
    let steps = [String(scope.day), scope.region, scope.service, "aws4_request"]
    key = steps.reduce(Array("AWS4\(secret)".utf8)) { key, step in SHA256Digest(of: step, keyedBy: key).bytes }
  }

  /// The value of the field that shows that the owner of the secret has sent the request.
  func authorization(of request: CanonicalRequest, at stamp: String, accessKey: String) -> String {
    let text = "AWS4-HMAC-SHA256\n\(stamp)\n\(scope.text)\n\(SHA256Digest(of: request.text).hex)"
    let signature = SHA256Digest(of: text, keyedBy: key).hex
    return "AWS4-HMAC-SHA256 Credential=\(accessKey)/\(scope.text), SignedHeaders=\(request.signedNames), "
      + "Signature=\(signature)"
  }
}

/// A SHA-256, plain or as HMAC.
struct SHA256Digest {
  private(set) var bytes = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))

  init(of text: String) {
    let isMade = unsafe EVP_Digest(text, text.utf8.count, &bytes, nil, EVP_sha256(), nil) == 1
    precondition(isMade, "libcrypto has SHA-256")
  }

  init(of text: String, keyedBy key: [UInt8]) {
    let made = unsafe HMAC(EVP_sha256(), key, CInt(key.count), text, text.utf8.count, &bytes, nil)
    precondition(unsafe made != nil, "libcrypto has HMAC with SHA-256")
  }

  /// In lower case.
  var hex: String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
