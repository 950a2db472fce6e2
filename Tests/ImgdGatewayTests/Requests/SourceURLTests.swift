import Testing

@testable import ImgdGateway

struct SourceURLTests {
  @Test(arguments: [
    ("http://a.example", "a.example"), ("HTTPS://A.Example/x", "a.example"),
    ("http://a.example.:80/x", "a.example"), ("http://a.example?x", "a.example"),
    ("https://a_b-c.example:65535/", "a_b-c.example"), ("http://127.0.0.1/", "127.0.0.1"),
    ("http://[2001:DB8::1]:8080/", "[2001:db8::1]"), ("http://[0:0:0:0:0:0:0:1]", "[::1]"),
    ("http://localhost/@b.example", "localhost"),
    ("http://a.example/http://b.example", "a.example"),
  ])
  func `a host is read`(url: String, name: String) {
    #expect(URLHost(of: url)?.name == name)
  }

  /// Readers of URLs see different hosts in these.
  static let confusing = [
    "", "http", "http:", "http:/", "http://", "http:///", "http:///evil.example/",
    "http:a.example/", "http:/a.example/", "http:\\\\a.example/", "http:/\\a.example/",
    "//a.example/",
    "ftp://a.example/", "http//a.example/", " http://a.example/", "http ://a.example/",
    "http://good.example@evil.example/", "http://good.example:80@evil.example/",
    "http://@evil.example/", "http://a:b@evil.example/", "http://good.example\\@evil.example/",
    "http://good.example\\.evil.example/", "http://good.example%2f.evil.example/",
    "http://good.example%00.evil.example/", "http://evil%2eexample/",
    "http://good.example .evil.example/",
    "http://good.example\t/", "http://good.example\n.evil.example/", "http://gооd.example/",
    "http://good。example/", "http://good.example:/", "http://good.example:0/",
    "http://good.example:65536/", "http://good.example:80:80/", "http://good.example:8a/",
    "http://good.example:+80/", "http://good.example:000080/", "http://..example/", "http://./",
    "http://.example/", "http://a..example/", "http://a.example../",
    "http://[::1/", "http://::1/", "http://[::1]x/", "http://[::1%25eth0]/",
    "http://[::1]@evil.example/",
    "http://[]/", "http://[127.0.0.1]/", "http://[::g]/", "http://[::1].evil.example/",
    "http://good.example[::1]/", "http://good.example;evil.example/",
    "http://good.example,evil.example/",
    "http://good.example&evil.example/", "http://{a,b}.example/", "http://*.example/",
  ]

  @Test(arguments: confusing)
  func `a URL that can be read in two ways has no host`(url: String) {
    #expect(URLHost(of: url) == nil)
  }

  @Test(arguments: confusing)
  func `it is no target in either form`(url: String) throws {
    let escaped = url.utf8.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "%0\(digits)" : "%\(digits)"
    }.joined()
    #expect(refusal(of: "/fetch?url=" + escaped)?.status == 400)
    // One slash is taken as two.
    guard url != "http:/a.example/" else { return }
    #expect(refusal(of: "/plain/" + escaped)?.status == 400)
  }

  @Test func `a name has at most 253 bytes`() {
    let long = String(repeating: "a.", count: 126)
    #expect(URLHost(named: long + "a") != nil && URLHost(named: long + "a.") != nil)
    #expect(URLHost(named: long + "ab") == nil)
  }

  @Test(arguments: [
    ("ftp://a.example/", "blocked_scheme", "only these"),
    ("a.example:80/", "blocked_scheme", "only these"),
    ("file:///x", "blocked_scheme", "only these"),
    ("a.example/x", "bad_url", "no scheme"), ("http://a.example/#x", "bad_url", "%23"),
    ("http://a.example/\u{1}", "bad_url", "byte 1"),
    ("http://a.example/\u{7f}", "bad_url", "byte 127"),
    ("http://a@b.example/", "bad_url", "no user name"),
    ("http://ä.example/", "bad_url", "Punycode"), ("s3://Pics/a", "bad_url", "lower-case"),
    ("s3://pics/", "bad_url", "names no object"), ("s3://pics@evil/a", "bad_url", "lower-case"),
    ("s3:pics/a", "bad_url", "s3://bucket/key"), ("s3://pics/a#b", "bad_url", "%23"),
  ])
  func `what is wrong is said`(url: String, code: String, part: String) throws {
    let error = #expect(throws: GatewayError.self) { try SourceURL(Array(url.utf8)) }
    #expect(error?.code == code && error?.status == 400 && error?.field == "url")
    #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
  }

  @Test func `an object is asked for in the spelling of URLs`() throws {
    #expect(try SourceURL(Array("s3://pics/é (1)%2b%".utf8)).text == "s3://pics/%C3%A9%20(1)%2b%25")
  }

  @Test func `a password is not repeated`() {
    let error = #expect(throws: GatewayError.self) {
      try SourceURL(Array("http://me:secret@a.example/".utf8))
    }
    #expect(error?.message.contains("secret") == false)
  }

  @Test func `a URL has at most 8192 bytes`() throws {
    let start = "http://a.example/"
    let longest = start + String(repeating: "a", count: 8_192 - start.utf8.count)
    #expect(try SourceURL(Array(longest.utf8)).text == longest)
    #expect(throws: GatewayError.self) { try SourceURL(Array((longest + "a").utf8)) }
    // Escapes count as what they are sent as.
    #expect(throws: GatewayError.self) { try SourceURL(Array((longest.dropLast() + " ").utf8)) }
  }
}
