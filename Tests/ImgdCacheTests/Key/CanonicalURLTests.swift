import ImgdCache
import Testing

/// The one form that each URL has.
struct CanonicalURLTests {
  @Test(arguments: [
    "http://example.org/", "https://example.org/a.jpg", "http://a/", "http://a-b_c.example/x",
    "https://example.org:8443/a/b.c/d..e?q=/../x&y=%7e", "http://127.0.0.1:8080/a.png",
    "http://1.example.org/", "http://255.255.255.255/", "http://0.0.0.0/",
    "http://example.org/%2e%2E/a", "http://example.org/?", "http://example.org/a?b?c",
    "http://example.org:443/", "https://example.org:80/", "http://example.org//a//b",
    "http://example.org/a|b\"<>\\^`{}", "http://example.org:65535/",
  ])
  func `a canonical URL is kept unchanged`(text: String) throws {
    #expect(CanonicalURL.isCanonical(text))
    #expect(try CanonicalURL.parse(text).text == text)
  }

  @Test(arguments: [
    ("HTTP://Example.ORG/A", "http://example.org/A"),
    ("https://example.org", "https://example.org/"),
    ("https://example.org:443/a", "https://example.org/a"),
    ("http://example.org:80/a", "http://example.org/a"),
    ("http://example.org:0080/a", "http://example.org/a"),
    ("http://example.org:08080/a", "http://example.org:8080/a"),
    ("http://example.org/a#part", "http://example.org/a"),
    ("http://example.org#part", "http://example.org/"),
    ("http://example.org?x=1", "http://example.org/?x=1"),
    ("http://example.org?x=1#a?b", "http://example.org/?x=1"),
    ("http://example.org/a?#part", "http://example.org/a?"),
    ("http://example.org/a/./b/../c", "http://example.org/a/c"),
    ("http://example.org/../../a", "http://example.org/a"),
    ("http://example.org/a/..", "http://example.org/"),
    ("http://example.org/.well-known/a", "http://example.org/.well-known/a"),
    ("http://example.org/./a?x=/../b", "http://example.org/a?x=/../b"),
    ("http://127.1/a", "http://127.0.0.1/a"),
    ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://[::1]/a", "http://[::1]/a"),
    ("http://[0:0::1]:8080/a", "http://[::1]:8080/a"),
    ("http://[2001:DB8::1]/", "http://[2001:db8::1]/"),
    ("http://example.org/ä", "http://example.org/%C3%A4"),
    ("http://example.org/?q=ä", "http://example.org/?q=%C3%A4"),
    ("http://example.org./a", "http://example.org./a"),
  ])
  func `another spelling is changed to the canonical one`(text: String, canonical: String) throws {
    #expect(!CanonicalURL.isCanonical(text))
    let url = try CanonicalURL.parse(text)
    #expect(url.text == canonical)
    #expect(try CanonicalURL.parse(canonical) == url)
  }

  @Test(arguments: [
    ("", "empty"), ("example.org/a", "no scheme"), ("//example.org/a", "no scheme"),
    ("/a.jpg", "no scheme"), ("http:/example.org/", "no //"), ("http:example.org", "no //"),
    ("http://", "no host"), ("http:///a", "no host"), ("http://?a", "no host"),
    ("http://:80/", "no host"), ("http://user@example.org/", "Authorization"),
    ("http://user:pass@example.org/", "Authorization"), ("http://@example.org/", "Authorization"),
    ("http://example.org/a b", "a space at byte 20"),
    (" http://example.org/", "a space at byte 0"),
    ("http://example.org/\n", "control character"),
    ("http://exam\0ple.org/", "control character"),
    ("http://example.org/\u{7F}", "control character"), ("http://bücher.example/", "punycode"),
    ("http://ex%61mple.org/", "% in it"), ("http://[fe80::1%25eth0]/", "% in it"),
    ("http://example.org:0/", "port"), ("http://example.org:65536/", "port"),
    ("http://example.org:http/", "port"), ("http://[::1/", "IPv6"), ("http://[zz]/", "IPv6"),
    ("http://exa*mple.org/", "host"), ("http://a\\b/", "host"), ("1http://a/", "no scheme"),
    (":", "no scheme"), ("http://exa'mple.org/", "host"),
  ])
  func `a URL that cannot be fetched is refused with the reason`(text: String, reason: String) {
    #expect {
      try CanonicalURL.parse(text)
    } throws: { problem in
      guard case .bad(let words) = problem as? URLProblem else { return false }
      return words.contains(reason)
    }
  }

  @Test(arguments: [
    ("ftp://example.org/", "ftp"), ("file:///etc/passwd", "file"), ("FILE:/etc/passwd", "file"),
    ("data:image/png;base64,AAAA", "data"), ("javascript:alert(1)", "javascript"),
    ("httpx://example.org/", "httpx"), ("unix+http://a/", "unix+http"),
  ])
  func `another scheme is named in the error`(text: String, scheme: String) {
    #expect(throws: URLProblem.blockedScheme(scheme: scheme)) { try CanonicalURL.parse(text) }
  }

  @Test(arguments: [
    ("s3://pics/a", "s3://pics/a"), ("S3://my.pics/a#b", "s3://my.pics/a"),
    ("s3://pics//a/../%2F.?x=(1)&y", "s3://pics//a/..//.?x=%281%29&y"), ("s3://pics/é+~", "s3://pics/%C3%A9%2B~"),
  ])
  func `an object has one spelling`(text: String, canonical: String) throws {
    let url = try CanonicalURL.parse(text)
    #expect(url.text == canonical)
    #expect(try CanonicalURL.parse(canonical) == url)
  }

  @Test(arguments: [
    ("s3:pics/a", "no //"), ("s3://pics", "names no object"), ("s3://pics/", "names no object"),
    ("s3://Pics/a", "lower-case"), ("s3://key:secret@pics/a", "lower-case"), ("s3://pics/100%", "%25"),
    ("s3://pics/a b", "a space at byte 11"), ("s3://p/a", "3 to 63"),
  ])
  func `what names no object is refused with the reason`(text: String, reason: String) {
    #expect {
      try CanonicalURL.parse(text)
    } throws: { problem in
      guard case .bad(let words) = problem as? URLProblem else { return false }
      return words.contains(reason) && !words.contains("secret")
    }
  }

  @Test func `a bucket stands where others have their host`() throws {
    let url = try CanonicalURL.parse("s3://my.pics/a/b?c")
    #expect(url.scheme == .s3)
    #expect(url.host == "my.pics")
    #expect(url.pathAndQuery == "/a/b?c")
    for other in ["http://my.pics/", "https://my.pics/", "s3://other.pics/a"] {
      #expect(try !url.hasSameOrigin(as: CanonicalURL.parse(other)))
    }
    #expect(try url.hasSameOrigin(as: CanonicalURL.parse("s3://my.pics/x")))
  }

  @Test func `a URL has at most eight kibibytes before and after`() throws {
    let fitting = "http://a/" + String(repeating: "x", count: CanonicalURL.longest - 9)
    #expect(try CanonicalURL.parse(fitting).text == fitting)
    #expect(throws: URLProblem.self) { try CanonicalURL.parse(fitting + "x") }
    let object = "s3://pics/" + String(repeating: "(", count: 3_000)
    #expect(throws: URLProblem.self) { try CanonicalURL.parse(object) }
    let growing = "http://a/" + String(repeating: "ä", count: 3_000)
    #expect(throws: URLProblem.self) { try CanonicalURL.parse(growing) }
  }

  @Test func `host, port and security are read from the URL`() throws {
    let plain = try CanonicalURL.parse("http://cdn.example.org/a:b")
    #expect((plain.host, plain.port, plain.isSecure) == ("cdn.example.org", 80, false))
    #expect(plain.hostRange == 7..<22)
    let secure = try CanonicalURL.parse("https://example.org:8443/a")
    #expect((secure.host, secure.port, secure.isSecure) == ("example.org", 8443, true))
    let address = try CanonicalURL.parse("https://[2001:db8::1]:99/a")
    #expect((address.host, address.port, address.isSecure) == ("[2001:db8::1]", 99, true))
    #expect(try CanonicalURL.parse("https://[::1]").port == 443)
  }

  @Test func `every cut and every changed byte gives a stable result`() {
    let samples = [
      "s3://a.b/c%2Fd?e=f&g#h", "http://user@[::1]:80/a/../b?c#d", "https://Example.org:443/ä?b#c",
      "http://1.2.3.4:81/.a?",
    ]
    for sample in samples {
      let bytes = Array(sample.utf8)
      for place in bytes.indices {
        answersStably(Array(bytes[..<place]))
        for byte in UInt8.min...UInt8.max {
          var changed = bytes
          changed[place] = byte
          answersStably(changed)
        }
      }
    }
  }

  /// A text that parses must parse to itself, and its parts must be readable.
  private func answersStably(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let url = try? CanonicalURL.parse(text) else {
      if CanonicalURL.isCanonical(text) { Issue.record("canonical and refused: \(text)") }
      return
    }
    if (try? CanonicalURL.parse(url.text)) != url { Issue.record("unstable: \(text)") }
    if url.host.isEmpty || !(1...65_535).contains(url.port) { Issue.record("parts: \(text)") }
  }
}
