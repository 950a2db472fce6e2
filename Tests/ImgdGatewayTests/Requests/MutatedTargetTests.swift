import ImgdTestSupport
import Testing

@testable import ImgdGateway

struct MutatedTargetTests {
  private static let targets = [
    "/fetch?url=https%3A%2F%2Fa.example%2Fcat.jpg", "/fetch?url=http://a.example/x+y",
    "/fetch?url=https%3A%2F%2Fa.example%2Fcat.jpg&width=300&height=200&fit=cover&crop=attention",
    "/fetch?width=300&dpr=1.5&url=https%3A%2F%2F%5B2001%3Adb8%3A%3A1%5D%3A8080%2F%C3%A9",
    "/fetch?url=http%3A%2F%2Fa.example%2F&enlarge=true&format=auto&quality=80",
    "/fetch?url=http%3A%2F%2Fa.example%2F&preset=thumb&expires=1700000000",
    "/fetch?url=http%3A%2F%2Fa.example%2F&width=3&signature=-F6fwQv7c8JHcTw9CJJCD_PYsaW2Swke9VFdAQ4WZaM",
    "/fetch?url=https%3A%2F%2Fa.example%2F%3Fa%3Db%26c%3D%2525", "/plain/https://a.example/cat.jpg",
    "/plain/http:/a.example/cat.jpg?x=y&z@webp", "/insecure/plain/https://a.example/%2520%40",
    "/_/rs:fit:300:200:0/g:sm/plain/https://a.example/cat.jpg@png",
    "/unsafe/w:3/plain/http://[::1]/",
    "/YBruPwjsyNdchDbDwDcuwRyBViBWUEF6L_IuuMXWtjM/rs:fill:300:200/plain/https://a.example/x@jpg",
    "/resize:force:3:2:t/plain/https%3A%2F%2Fa.example%2Fcaf%C3%A9",
    "/q:80/f:avif/plain/http://a.example",
    "/pr:thumb/exp:1700000000/cb:a:b/plain/https://a.example/",
    "/dpr:2/s:10:20/plain/https://a.example/", "/_/w:3/aHR0cDovL2EuZXhhbXBsZS9j/YXQuanBn.webp",
    "/c:0.5:30:nowe:10:20/g:fp:0.4:0.3/pd:1:2:3:4/rot:90/mw:9/z:1.5/fq:webp:60/plain/http://a.example/",
    "/fn:Y2Fm:1/att:1/bg:1:2:3/pr:thumb:thumb/plain/http://a.example/",
    "/resizing_type:fill/width:10/height:20/enlarge:1/plain/https://a.example:8080/a/b/../c",
    "/fetch?format=jpg&url=HTTPS%3A%2F%2FA.EXAMPLE.%2F%22%3C%3E%5C%5E%60%7B%7C%7D",
  ]

  private let access: PictureAccess

  init() throws {
    access = PictureAccess(
      allow: ["a.example", "[::1]"], keys: try SigningKeys(lines: Array("0123456789abcdef".utf8)),
      presets: [try Preset(parsing: "thumb:300x200:cover")], onlyPresets: false)
  }

  /// Whatever it is, it is understood or refused in a sentence.
  private func check(_ target: String) throws {
    do throws(GatewayError) {
      guard let parsed = try PictureTarget.parse(target) else { return }
      try check(try access.admit(parsed, now: 1_600_000_000), target)
    } catch {
      #expect([400, 403].contains(error.status) && !error.message.isEmpty, "\(target)")
      #expect(error.message.utf8.count < 1_000, "\(target)")
    }
  }

  /// The URL is one that reads as itself, with an open host.
  private func check(_ request: PictureRequest, _ target: String) throws(GatewayError) {
    let again = try SourceURL(Array(request.url.utf8))
    #expect(again.text == request.url && request.url.utf8.count <= 8_192, "\(target)")
    #expect(request.url.utf8.allSatisfy { 0x21...0x7e ~= $0 }, "\(target)")
    let host = again.host.name
    #expect(host == "[::1]" || host == "a.example" || host.hasSuffix(".a.example"), "\(target)")
    for side in [request.width, request.height] { #expect(1...65_535 ~= side ?? 1, "\(target)") }
  }

  @Test func `targets cut anywhere are understood or refused`() throws {
    for target in Self.targets {
      for end in target.utf8.indices { try check(String(target[..<end])) }
      try check(target)
    }
  }

  @Test func `targets changed at random are understood or refused`() throws {
    var random = SeededGenerator(seed: 24)
    let letters = Array("/?&=:%+@\\#.[]-_0129azAZ \u{0}\u{7f}é\u{301}".utf8)
    for number in 0..<10_000 {
      var bytes = Array(Self.targets[number % Self.targets.count].utf8)
      for _ in 0...Int.random(in: 0..<4, using: &random) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = letters.randomElement(using: &random) ?? 0
        case 1: bytes.insert(letters.randomElement(using: &random) ?? 0, at: place)
        case 2: bytes.remove(at: place)
        case 3: bytes += bytes[place...]
        default: bytes[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      try check(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// If a step were repeated for each byte, this would take minutes.
  @Test(
    arguments: [
      "/", "/a", ":", "a:", "/a:", "%25", "%", "&", "&a=", "=", "@", ".", "a.", "+", "é", "\u{301}",
      "[", "#",
    ])
  func `long targets take as long as they are`(piece: String) throws {
    let long = String(repeating: piece, count: (32 << 10) / piece.utf8.count)
    for start in [
      "", "/fetch?", "/fetch?url=", "/fetch?url=http://", "/fetch?signature=", "/fetch?width=",
      "/_/", "/cb:", "/rs:", "/pr:", "/fq:", "/_/aHR0c", "/g:", "/fn:", "/plain/", "/plain/http://",
      "/plain/http://a.example/",
    ] {
      try check(start + long)
    }
  }
}
