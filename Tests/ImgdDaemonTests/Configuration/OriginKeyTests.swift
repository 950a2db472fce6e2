import ImgdCache
import ImgdProgram
import Testing

@testable import ImgdDaemon

/// The sections `[Origin PATTERN]`: how they are read, and which one applies to a URL.
struct OriginKeyTests {
  /// The keys of a section, each with a value that is not its default.
  private static let values: [String: String] = [
    "Key": "without X-Amz-* Signature", "MaxActive": "8", "Rate": "20/s", "MinFresh": "1d",
    "Fallback": "https://mirror.example.net{path}", "Bandwidth": "5M", "Proxy": "socks5h://127.0.0.1:1080",
    "TagFields": "surrogate-key xkey",
  ]

  private func read(_ text: String) throws -> Configuration {
    try ConfigurationLoader.load(
      CommandLineOptions.parse(text.split(separator: "\n").flatMap { ["--set", String($0)] }), environment: [:], uid: 0,
      systemFile: "/nowhere")
  }

  private func complaint(_ text: String) -> String? {
    do {
      _ = try read(text)
      return nil
    } catch { return "\(error)" }
  }

  /// A file that a section names has to be there, and a bucket needs one: `BucketKeyTests`.
  @Test(
    arguments: Configuration.originKeys.map(\.name).filter {
      !["HeaderFile", "CredentialsFile", "Endpoint", "Region"].contains($0)
    })
  func `every key is read, printed and set back`(key: String) throws {
    let value = try #require(Self.values[key])
    let configuration = try read("Origin example.org.\(key)=\(value)")
    let printed = configuration.entries.filter { $0.section == "Origin example.org" && !$0.value.isEmpty }
    #expect(printed.map { "\($0.key)=\($0.value)" } == ["\(key)=\(value)"])
    #expect(try read("Origin example.org.\(key)=\(value)\nOrigin example.org.\(key)=").origins.values.first == .init())
  }

  @Test func `every key is explained in a sentence`() {
    for key in Configuration.originKeys {
      #expect(key.help.hasSuffix(".") && key.help.utf8.count <= 96, "\(key.name)")
    }
  }

  @Test(arguments: [
    ("Example.ORG", "example.org"), ("*.example.org", "*.example.org"), ("example.org:8080", "example.org:8080"),
    ("http://example.org", "http://example.org"), ("https://Example.org:443", "https://example.org"),
    ("https://*.example.org:8443", "https://*.example.org:8443"), ("[::1]", "[::1]"), ("[::1]:81", "[::1]:81"),
    ("example.org:80", "example.org:80"),
    ("example.org.", "example.org"), ("10.0.0.1", "10.0.0.1"), ("10.0.0.1.", "10.0.0.1"),
    ("s3://pics", "s3://pics"),
    ("s3://my.pics", "s3://my.pics"),
  ])
  func `a pattern has one form`(text: String, expected: String) throws {
    let pattern = try OriginPattern(text)
    #expect(pattern.text == expected)
    #expect(try OriginPattern(expected) == pattern)
  }

  @Test(arguments: [
    "", "*", "*.", ".example.org", "a..b",
    "*example.org", "a.*.org", "example.org/", "ftp://example.org", "https://", "example.org:",
    "example.org:0", "example.org:65536", "a b", "user@example.org", "example.org?x", "::1", "*.*.org", "http://[::1",
    "s3://", "s3://Pics", "s3://pics/", "s3://*.pics", "s3://pics:80", "s3://10.0.0.1", "S3://pics", "0.",
    "*.0x10.:80",
  ])
  func `what is no pattern is refused`(text: String) {
    #expect(throws: WrongValue.self) { _ = try OriginPattern(text) }
  }

  @Test(arguments: [
    ("Key=with a", "begins with neither word: write without or only, and the names of parameters"),
    ("Key=without", "names no parameter: write without X-Amz-* Signature, for example"),
    ("Key=only a *b", "contains '*b': a * stands at the end of a name alone"),
    ("Rate=20", "is not a rate: write 1/s to 10000/s, or 1/min to 10000/min"),
    ("Rate=0/s", "is not a rate: write 1/s to 10000/s, or 1/min to 10000/min"),
    ("Rate=20/h", "is not a rate: write 1/s to 10000/s, or 1/min to 10000/min"),
    ("Fallback=https://m.example", "is not a URL with {path} once: write one such as https://mirror.example.net{path}"),
  ])
  func `a wrong value is named with what would be right`(line: String, expected: String) {
    #expect(complaint("Origin example.org.\(line)") == "--set: Origin example.org.\(line) \(expected)")
  }

  @Test func `the most exact section applies, alone`() throws {
    let patterns = [
      "example.org", "*.example.org", "*.b.example.org", "https://example.org", "example.org:8080",
      "http://example.org:8080", "https://*.example.org", "a.b.example.org", "s3://example.org",
    ]
    let rules = OriginRules(
      Dictionary(
        uniqueKeysWithValues: try patterns.map {
          (try OriginPattern($0), Configuration.Origin(key: QueryRule(.only, [$0])))
        }))
    for (url, expected) in [
      ("http://example.org/", "example.org"), ("https://example.org/", "https://example.org"),
      ("https://example.org:8443/", "example.org"), ("https://example.org:8080/", "example.org:8080"),
      ("http://example.org:8080/", "http://example.org:8080"), ("http://x.example.org/", "*.example.org"),
      ("https://x.example.org/", "https://*.example.org"), ("https://x.example.org:1/", "*.example.org"),
      ("http://x.y.example.org/", "*.example.org"), ("https://x.b.example.org/", "*.b.example.org"),
      ("https://a.b.example.org/", "a.b.example.org"), ("http://b.example.org/", "*.example.org"),
      ("http://example.com/", nil), ("http://notexample.org/", nil), ("http://org/", nil), ("http://[::1]/", nil),
      ("s3://example.org/a", "s3://example.org"), ("s3://a.b.example.org/a", nil), ("s3://x.example.org/a", nil),
    ] as [(String, String?)] {
      #expect(rules[try CanonicalURL.parse(url)]?.key?.names.first == expected, "\(url)")
    }
    #expect(OriginRules([:])[try CanonicalURL.parse("http://example.org/")] == nil)
  }
}
