import Testing

@testable import ImgdTransfer

/// A request and its signature, as AWS has published them.
struct SignatureVector: Sendable, CustomTestStringConvertible {
  let name: String
  let method: String
  let path: Substring
  let query: Substring?
  let fields: [HeaderField]
  let body: String
  let signature: String

  init(
    _ name: String, _ line: String, _ fields: [String] = [],
    body: String = CanonicalRequest.digestOfNothing, signature: String
  ) {
    self.name = name
    method = String(line.prefix { $0 != " " })
    let target = line.dropFirst(method.count + 1)
    path = target.prefix { $0 != "?" }
    query = path.endIndex == target.endIndex ? nil : target[path.endIndex...].dropFirst()
    self.fields = fields.map { field in
      let name = field.prefix { $0 != ":" }
      return HeaderField(String(name), String(field.dropFirst(name.count + 1)))
    }
    self.body = body
    self.signature = signature
  }

  var testDescription: String { name }

  /// The whole field of the request at that time.
  func authorization(
    host: String, stamp: String, scope: SigningScope, accessKey: String, secret: String
  ) -> String {
    let basis = [HeaderField("Host", host), HeaderField("X-Amz-Date", stamp)]
    let request = CanonicalRequest(
      method: method, path: path, query: query, fields: basis + fields, bodyDigest: body)
    return SigningKey(secret: secret, for: scope)
      .authorization(of: request, at: stamp, accessKey: accessKey)
  }
}

/// AWS's test suite for signatures (aws-c-auth, tests/aws-signing-test-suite/v4). Those whose path is normalised are
/// left out, because S3 does not do that: get-relative, get-relative-relative, get-slash, get-slashes,
/// get-slash-dot-slash and get-slash-pointless-dot have a second vector each, without it. The lines of
/// get-header-value-multiline are one here, as a field of HTTP is today.
struct SignatureVectorTests {
  @Test(arguments: suite)
  func `a request of the suite has its signature`(vector: SignatureVector) {
    let authorization = vector.authorization(
      host: "example.amazonaws.com", stamp: SigningMoment(1_440_938_160).stamp,
      scope: SigningScope(day: "20150830", region: "us-east-1", service: "service"),
      accessKey: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    #expect(
      authorization.hasPrefix(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
          + "SignedHeaders="))
    #expect(authorization.hasSuffix(", Signature=\(vector.signature)"))
  }

  @Test(arguments: examples)
  func `a request to S3 has its signature`(vector: SignatureVector) {
    let body = HeaderField("x-amz-content-sha256", vector.body)
    let request = CanonicalRequest(
      method: vector.method, path: vector.path, query: vector.query,
      fields: vector.fields + [
        body, HeaderField("Host", "examplebucket.s3.amazonaws.com"),
        HeaderField("x-amz-date", "20130524T000000Z"),
      ], bodyDigest: vector.body)
    let key = SigningKey(
      secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      for: SigningScope(day: "20130524", region: "us-east-1"))
    let authorization = key.authorization(
      of: request, at: "20130524T000000Z", accessKey: "AKIAIOSFODNN7EXAMPLE")
    #expect(authorization.hasSuffix(", Signature=\(vector.signature)"))
  }

  @Test(arguments: [
    (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (1_735_689_599, "20241231T235959Z"),
    (4_102_444_800, "21000101T000000Z"),
  ])
  func `a moment is written without a time zone`(seconds: Int64, stamp: String) {
    #expect(SigningMoment(seconds).stamp == stamp)
  }

  /// The four examples of the chapter on the field Authorization in the reference of S3.
  private static let examples: [SignatureVector] = [
    SignatureVector(
      "GET an object", "GET /test.txt", ["Range:bytes=0-9"],
      signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    SignatureVector(
      "PUT an object", "PUT /test$file.text",
      ["Date:Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class:REDUCED_REDUNDANCY"],
      body: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
      signature: "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    SignatureVector(
      "GET the lifecycle of a bucket", "GET /?lifecycle",
      signature: "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    SignatureVector(
      "GET a list of objects", "GET /?max-keys=2&prefix=J",
      signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
  ]

  private static let suite: [SignatureVector] = [
    SignatureVector(
      "get-header-key-duplicate", "GET /", ["My-Header1:value2", "My-Header1:value2", "My-Header1:value1"],
      signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
    SignatureVector(
      "get-header-value-multiline", "GET /", ["My-Header1:value1  value2     value3"],
      signature: "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"),
    SignatureVector(
      "get-header-value-order", "GET /",
      ["My-Header1:value4", "My-Header1:value1", "My-Header1:value3", "My-Header1:value2"],
      signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
    SignatureVector(
      "get-header-value-trim", "GET /", ["My-Header1: value1", "My-Header2: \"a   b   c\""],
      signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    SignatureVector(
      "get-relative-relative-unnormalized", "GET /example1/example2/../..", [],
      signature: "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b"),
    SignatureVector(
      "get-relative-unnormalized", "GET /example/..", [],
      signature: "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282"),
    SignatureVector(
      "get-slash-dot-slash-unnormalized", "GET /./", [],
      signature: "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145"),
    SignatureVector(
      "get-slash-pointless-dot-unnormalized", "GET /./example", [],
      signature: "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff"),
    SignatureVector(
      "get-slash-unnormalized", "GET //", [],
      signature: "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e"),
    SignatureVector(
      "get-slashes-unnormalized", "GET //example//", [],
      signature: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"),
    SignatureVector(
      "get-space-normalized", "GET /example space/", [],
      signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    SignatureVector(
      "get-space-unnormalized", "GET /example space/", [],
      signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    SignatureVector(
      "get-unreserved", "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", [],
      signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    SignatureVector(
      "get-utf8", "GET /ሴ", [],
      signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    SignatureVector(
      "get-vanilla-empty-query-key", "GET /?Param1=value1", [],
      signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
    SignatureVector(
      "get-vanilla-query-order-encoded", "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1", [],
      signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
    SignatureVector(
      "get-vanilla-query-order-key-case", "GET /?Param2=value2&Param1=value1", [],
      signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    SignatureVector(
      "get-vanilla-query-unreserved",
      "GET /?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
      [],
      signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
    SignatureVector(
      "get-vanilla-query", "GET /", [],
      signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    SignatureVector(
      "get-vanilla-utf8-query", "GET /?ሴ=bar", [],
      signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    SignatureVector(
      "get-vanilla-with-session-token", "GET /",
      ["X-Amz-Security-Token:6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"],
      signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
    SignatureVector(
      "get-vanilla", "GET /", [],
      signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    SignatureVector(
      "post-header-key-case", "POST /", [],
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    SignatureVector(
      "post-header-key-sort", "POST /", ["My-Header1:value1"],
      signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
    SignatureVector(
      "post-header-value-case", "POST /", ["My-Header1:VALUE1"],
      signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
    SignatureVector(
      "post-sts-header-after", "POST /", [],
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    SignatureVector(
      "post-sts-header-before", "POST /",
      [
        "X-Amz-Security-Token:AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
      ],
      signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    SignatureVector(
      "post-vanilla-empty-query-value", "POST /?Param1=value1", [],
      signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    SignatureVector(
      "post-vanilla-query", "POST /?Param1=value1", [],
      signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    SignatureVector(
      "post-vanilla", "POST /", [],
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    SignatureVector(
      "post-x-www-form-urlencoded-parameters", "POST /",
      [
        "Content-Type:application/x-www-form-urlencoded; charset=utf-8", "Content-Length:13",
        "X-Amz-Content-Sha256:9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
      ],
      body: "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
      signature: "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"),
    SignatureVector(
      "post-x-www-form-urlencoded", "POST /",
      [
        "Content-Type:application/x-www-form-urlencoded", "Content-Length:13",
        "X-Amz-Content-Sha256:9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
      ],
      body: "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
      signature: "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"),
  ]
}
