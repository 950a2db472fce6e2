import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// Objects with names of all kinds, at an origin that checks signatures by itself.
struct OddKeyTests {
  private static let parts = [
    " ", "+", "é", "e\u{301}", "()", "~", "%2F", "%", "//", "/", ".", "..", "/./", "/../", "日本", "🖼",
    "'", "!", "*", "=", "&", ";", ":", "@", "$", ",", "#", "?", "\"", "<>", "\\", "^", "`", "{|}", "[]",
    "a", "Z9", "-_", "\t", "\u{7f}", "%zz", ".png",
  ]

  @Test func `a thousand of a thousand odd keys are opened`() throws {
    let origin = try OriginServer()
    let bench = try TransferBench()
    let signer = RequestSigner(
      SigningCredentials(accessKey: SignatureJudge.accessKey, secret: SignatureJudge.secret),
      for: try BucketPlace(bucket: "odd.keys", endpoint: origin.url("")),
      wallSeconds: { SignatureJudge.noon })
    var random = SeededGenerator(seed: 37)
    var opened = 0
    for number in 0..<1_000 {
      let key = (0...Int.random(in: 0..<7, using: &random))
        .map { _ in Self.parts.randomElement(using: &random) ?? "" }.joined()
      let query = number % 4 == 0 ? Self.query(number) : nil
      // Each has a body of its own, and lies where S3 would look for it, and nowhere else.
      let body = Array("\(number) \(key)".utf8)
      origin.plan(Self.place(of: key, query), SignatureJudge().answer(body))
      let url = "s3://odd.keys/" + Self.spelling(of: key, using: &random) + (query.map { "?\($0)" } ?? "")
      let result = try bench.fetch(url, signer: signer)
      #expect(result.bytes == body, "\(url)")
      opened += result.bytes == body ? 1 : 0
    }
    #expect(opened == 1_000)
    #expect(origin.connections == 1)
  }

  private static func query(_ number: Int) -> String { "versionId=\(number)/é&b&Z=~&a=1 2" }

  private static func place(of key: String, _ query: String?) -> String {
    let path = "/odd.keys/" + SignatureJudge.escaped(Array(key.utf8), sparing: "/")
    let parameters = query?.split(separator: "&").map { parameter in
      parameter.split(separator: "=").map { SignatureJudge.escaped(Array($0.utf8), sparing: "") }.joined(separator: "=")
    }
    return path + (parameters.map { "?" + $0.joined(separator: "&") } ?? "")
  }

  /// One of the many spellings of a key in a URL: what need not be escaped is so now and then.
  private static func spelling(of key: String, using random: inout SeededGenerator) -> String {
    key.unicodeScalars.map { scalar in
      let mustBeEscaped = "%?# \t\u{7f}".unicodeScalars.contains(scalar)
      guard mustBeEscaped || Bool.random(using: &random) else { return String(scalar) }
      let isUpper = Bool.random(using: &random)
      return String(scalar).utf8.map { byte in
        "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: isUpper)
      }.joined()
    }.joined()
  }
}
