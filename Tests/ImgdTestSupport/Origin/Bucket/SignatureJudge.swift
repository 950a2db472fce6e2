/// What checks signatures at an origin, as S3 does: from the bytes of the request, and with nothing of what made them.
package struct SignatureJudge: Sendable {
  package static let accessKey = "AKIDEXAMPLE"
  package static let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
  /// The file of these keys, as a section names it.
  package static let credentialsFile =
    "[default]\naws_access_key_id = \(accessKey)\naws_secret_access_key = \(secret)\n"
  /// 2015-08-30 12:36:00
  package static let noon: Int64 = 1_440_938_160

  private let region: String
  private let token: String?
  /// The day and the minute of the origin's clock, in which all signatures have to be made; nil for any time.
  private let minute: String?

  package init(region: String = "us-east-1", token: String? = nil, minute: String? = "20150830T1236") {
    self.region = region
    self.token = token
    self.minute = minute
  }

  /// The body that the owner of the secret is given, and a refusal like S3's for anybody else.
  package func answer(_ body: [UInt8], headers: [(String, String)] = []) -> OriginAnswer {
    admitting(.body(body, headers: headers))
  }

  /// That answer, if the request may have it.
  package func admitting(_ answer: OriginAnswer) -> OriginAnswer {
    OriginAnswer { request in
      guard let code = problem(of: request) else { return answer.steps(request) }
      let wrongRegion = code == "AuthorizationHeaderMalformed"
      return OriginAnswer.status(
        wrongRegion ? 400 : 403, headers: wrongRegion ? [("x-amz-bucket-region", region)] : [],
        body: Array("<?xml version=\"1.0\"?>\n<Error><Code>\(code)</Code></Error>".utf8)
      ).steps(request)
    }
  }

  /// The code of what is wrong with a request; nil for one that is signed as it should be.
  package func problem(of request: OriginRequest) -> String? {
    let scheme = "AWS4-HMAC-SHA256 "
    guard let value = request.header("authorization"), value.hasPrefix(scheme) else { return "AccessDenied" }
    let parts = value.dropFirst(scheme.count).split(separator: ", ").map { $0.split(separator: "=", maxSplits: 1) }
    guard parts.map(\.first) == ["Credential", "SignedHeaders", "Signature"] else { return "AccessDenied" }
    let scope = parts[0][1].split(separator: "/")
    guard scope.count == 5, scope[0] == Self.accessKey else { return "InvalidAccessKeyId" }
    guard scope[2] == region else { return "AuthorizationHeaderMalformed" }
    guard let stamp = request.header("x-amz-date"), stamp.hasPrefix(minute ?? ""), stamp.hasPrefix(scope[1])
    else { return "RequestTimeTooSkewed" }
    guard request.header("x-amz-security-token") == token else { return "InvalidToken" }
    let names = parts[1][1].split(separator: ";").map(String.init)
    let demanded = request.headers.map(\.name).filter { $0.hasPrefix("x-amz-") } + ["host", "x-amz-date"]
    guard names == names.sorted(), demanded.allSatisfy(names.contains) else { return "UnsignedHeaders" }
    let empty = Self.digestOfNothing
    guard request.header("x-amz-content-sha256") == empty else { return "XAmzContentSHA256Mismatch" }
    let text =
      "AWS4-HMAC-SHA256\n\(stamp)\n\(scope.dropFirst().joined(separator: "/"))\n"
      + PlainSHA256.hex(PlainSHA256.digest(Array(canonical(request, names, empty).utf8)))
    let key = scope.dropFirst().reduce(Array("AWS4\(Self.secret)".utf8)) { key, step in
      PlainSHA256.hmac(Array(step.utf8), key: key)
    }
    let signature = PlainSHA256.hex(PlainSHA256.hmac(Array(text.utf8), key: key))
    return parts[2][1] == signature ? nil : "SignatureDoesNotMatch"
  }

  private static let digestOfNothing = PlainSHA256.hex(PlainSHA256.digest([]))

  private func canonical(_ request: OriginRequest, _ names: [String], _ body: String) -> String {
    let path = request.path.prefix { $0 != "?" }
    let query = request.path.dropFirst(path.count + 1)
    let parameters = query.split(separator: "&").map { part in
      // A form's plus sign is a blank, to S3 as well.
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { side in
        Self.escaped(
          Self.bytes(of: String(side).split(separator: "+", omittingEmptySubsequences: false).joined(separator: "%20")),
          sparing: "")
      }
      return (sides[0], sides.count > 1 ? sides[1] : "")
    }
    let lines = names.map { name in
      let words = (request.header(name) ?? "").split(separator: " ")
      return "\(name):\(words.joined(separator: " "))\n"
    }.joined()
    return [
      request.method, Self.escaped(Self.bytes(of: String(path)), sparing: "/"),
      parameters.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&"), lines,
      names.joined(separator: ";"), body,
    ].joined(separator: "\n")
  }

  /// The bytes that a path stands for.
  private static func bytes(of path: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Array(path.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        bytes.append(byte)
        continue
      }
      bytes.append(code)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  private static let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

  /// How S3 writes bytes for a signature.
  package static func escaped(_ bytes: [UInt8], sparing spared: String) -> String {
    bytes.map { byte in
      plain.contains(byte) || spared.utf8.contains(byte)
        ? String(UnicodeScalar(byte))
        : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }
}
