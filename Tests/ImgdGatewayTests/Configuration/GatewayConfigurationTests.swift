import ImgdProgram
import ImgdSystem
import Testing

@testable import ImgdGateway

struct GatewayConfigurationTests {
  private func load(
    _ arguments: [String] = [], environment: [String: String] = [:], uid: UInt32 = 0
  ) throws -> GatewayConfiguration {
    try GatewayOptions.parse(arguments).configuration(
      environment: environment, uid: uid, systemFile: "/nonexistent/imgd.conf")
  }

  private func set(_ key: String, _ value: String) throws -> GatewayConfiguration {
    try load(["--set", "HTTP-Gateway.\(key)=\(value)"])
  }

  private func problem(_ key: String, _ value: String) throws -> String? {
    do {
      _ = try set(key, value)
      return nil
    } catch let problems as ConfigurationProblems {
      return problems.lines.joined(separator: "\n")
    }
  }

  @Test func `nothing is open by default`() throws {
    let configuration = try load()
    #expect(configuration == GatewayConfiguration())
    #expect(configuration.allow.isEmpty && configuration.keyFile.isEmpty)
    #expect(configuration.tokenFile.isEmpty && configuration.page == .local)
    #expect(configuration.listen == .unix("/run/imgd/http.sock"))
  }

  @Test func `the keys and their defaults are the documented ones`() {
    #expect(
      GatewayConfiguration().entries.map { "\($0.section).\($0.key)=\($0.value)" }
        == [
          "Listen=/run/imgd/http.sock", "Expose=no", "Allow=", "KeyFile=", "Presets=", "OnlyPresets=no",
          "Cors=", "Fallback=", "FallbackStatus=error", "Page=local", "TokenFile=", "TrustedProxies=unix",
          "Workers=auto",
          "MaxConnections=1024",
          "MaxPerAddress=32", "Rate=0", "Timeout=30s", "IdleTimeout=30s",
          "AccessLog=no", "AccessLogFile=", "AccessLogSample=1",
        ].map { "HTTP-Gateway." + $0 })
  }

  /// Another value for each key, as it is printed again.
  private static let others: [(key: String, value: String)] = [
    ("Listen", "[::1]:8080"), ("Expose", "yes"), ("Allow", "example.org 10.0.0.7 [::1] *"), ("KeyFile", "/k"),
    ("Presets", "thumb:cover"), ("Cors", "https://a.example http://[::1]:3000 *"), ("Fallback", "/a.png"),
    ("FallbackStatus", "200"), ("Page", "all"), ("TokenFile", "/t"),
    ("TrustedProxies", "loopback"),
    ("Workers", "3"), ("MaxConnections", "1"), ("MaxPerAddress", "1"), ("Rate", "5"), ("Timeout", "1s"),
    ("IdleTimeout", "1min"), ("AccessLog", "combined"), ("AccessLogFile", "/l"), ("AccessLogSample", "100"),
  ]

  @Test(arguments: others)
  func `every key is read, and printed as it was written`(key: String, value: String) throws {
    let configuration = try set(key, value)
    #expect(configuration != GatewayConfiguration())
    #expect(configuration.entries.first { $0.key == key }?.value == value)
    #expect(
      GatewayConfiguration().changes(to: configuration)
        == [ConfigurationChange(key: "HTTP-Gateway." + key, isLive: false)])
  }

  @Test func `every key is explained in a sentence that fits a line`() {
    for key in GatewayConfiguration.keys {
      #expect(key.help.hasSuffix(".") && key.help.utf8.count <= 100, "\(key.name)")
    }
  }

  @Test(
    arguments: [
      ("/srv/a b.sock", .unix("/srv/a b.sock")),
      ("127.0.0.1:8080", .port(address: "127.0.0.1", port: 8080)),
      ("127.9.0.1:1", .port(address: "127.9.0.1", port: 1)),
      ("[::1]:65535", .port(address: "::1", port: 65_535)),
    ] as [(String, GatewayConfiguration.Place)])
  func `a place is a path or a port of this machine`(
    text: String, place: GatewayConfiguration.Place
  ) throws {
    #expect(try set("Listen", text).listen == place)
    #expect(place.text == text)
  }

  @Test(arguments: [("Presets", "t:\u{1b}[2J"), ("Listen", "\u{7}"), ("Allow", "a\u{202e}b")])
  func `a mistake is printable, whatever the value has in it`(key: String, value: String) throws {
    let mistake = try #require(try problem(key, value))
    #expect(!mistake.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202e}" }, "\(mistake.debugDescription)")
  }

  @Test(arguments: [
    "8080", "run/x", "localhost", "localhost:0", "host:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
    "::1:80", "[::1]", "[127.0.0.1]:80", "127.0.0.1:80:80", "127.1:80", "[]:80", ":80",
    "127.0.0.1.example.org:80",
  ])
  func `a text that is no place is refused with the forms of one`(text: String) throws {
    #expect(
      try problem("Listen", text) == "--set: HTTP-Gateway.Listen=\(text) is not a place to listen: "
        + "write an absolute path, or localhost:8080 or [::1]:8080")
  }

  @Test(arguments: [
    "0.0.0.0:80", "[::]:80", "192.168.1.1:80", "[fd00::1]:80", "[::ffff:127.0.0.1]:80",
  ])
  func `an address that other machines reach needs Expose=yes`(text: String) throws {
    let refusal = try problem("Listen", text)
    #expect(refusal?.hasPrefix("--set: HTTP-Gateway.Listen=\(text) would be open to other machines") == true)
    #expect(refusal?.hasSuffix("or set HTTP-Gateway.Expose=yes") == true)
    let configuration = try load(["--listen", text, "--set", "HTTP-Gateway.Expose=yes"])
    #expect(configuration.listen.text == text && configuration.expose)
  }

  @Test func `localhost is an address`() throws {
    #expect(try set("Listen", "LocalHost:8080").listen == .port(address: "127.0.0.1", port: 8080))
  }

  @Test func `open to other machines, no form is free`() throws {
    let exposed = ["--set", "HTTP-Gateway.Expose=yes", "--set", "HTTP-Gateway.Allow=a.example b.example"]
    #expect {
      try load(exposed)
    } throws: { error in
      "\(error)"
        == "--set: HTTP-Gateway.Allow=a.example b.example would let anybody have any form made, with "
        + "HTTP-Gateway.Expose=yes: leave it empty and have targets signed (HTTP-Gateway.KeyFile), or "
        + "set HTTP-Gateway.OnlyPresets=yes"
    }
    let presets = ["--set", "HTTP-Gateway.OnlyPresets=yes", "--set", "HTTP-Gateway.Presets=a:cover"]
    #expect(try load(exposed + presets).allow.count == 2)
    #expect(try set("Expose", "yes").allow.isEmpty)
  }

  @Test func `hosts are kept in lower case`() throws {
    #expect(
      try set("Allow", "Example.ORG, my_host\t[FD00::1]").allow == [
        "example.org", "my_host", "[fd00::1]",
      ])
  }

  @Test(arguments: [
    "*.example.org", "example.org:80", "https://example.org", "a..b", "exämple.org",
    "[::1", "[]", "::1", "user@example.org",
  ])
  func `a word that is no host is named`(word: String) throws {
    #expect(try problem("Allow", "good.example \(word)")?.contains("which is not a host") == true)
  }

  @Test(arguments: [
    ("https://a.example/", "write https://a.example, as browsers send it"),
    ("https://A.example:443", "write https://a.example, as browsers send it"),
    ("HTTP://a.example:8080/b?c", "write http://a.example:8080, as browsers send it"),
    ("http://[0::1]:80", "write http://[::1], as browsers send it"),
    ("a.example", "write origins such as"), ("//a.example", "write origins such as"),
    ("null", "write origins such as"), ("ftp://a.example", "write origins such as"),
    ("https://*.a.example", "write origins such as"), ("https:a.example", "write origins such as"),
    ("https://u@a.example", "write origins such as"), ("https://a.example#b", "write https://a.example, as"),
  ])
  func `a word that is no origin is refused with what would be one`(word: String, advice: String) throws {
    let problem = try problem("Cors", "http://good.example \(word)")
    #expect(problem?.contains("which is not an origin: \(advice)") == true)
  }

  @Test func `peers are words`() throws {
    #expect(try set("TrustedProxies", "unix loopback").trustedProxies == [.unix, .loopback])
    #expect(
      try problem("TrustedProxies", "tcp")
        == "--set: HTTP-Gateway.TrustedProxies=tcp contains 'tcp': write unix, loopback or network")
  }

  @Test func `presets have names of their own`() throws {
    #expect(try set("Presets", "a:cover b").presets.map(\.name) == ["a", "b"])
    #expect(
      try problem("Presets", "a:cover a")?.hasSuffix("has two presets with the name a: rename one")
        == true)
  }

  @Test func `a fallback picture is for a preset that there is`() throws {
    let files = try load([
      "--set", "HTTP-Gateway.Presets=a b", "--set", "HTTP-Gateway.Fallback=/x:y.png b:/z.png",
    ]).fallback
    #expect(files == [FallbackFile("/x:y.png"), FallbackFile("/z.png", of: "b")])
    #expect(try problem("Fallback", "c:/z.png")?.contains("'c', which HTTP-Gateway.Presets has not") == true)
    for value in ["z.png", ":/z.png", "a/z.png", "a:z.png", "b:"] {
      #expect(try problem("Fallback", value)?.contains("write /path, or name:/path") == true, "\(value)")
    }
    #expect(try problem("Fallback", "/a /b")?.contains("two pictures for all requests") == true)
  }

  @Test func `requests that may only name presets need some`() throws {
    #expect(
      try load(["--set", "HTTP-Gateway.OnlyPresets=yes", "--set", "HTTP-Gateway.Presets=a:cover"])
        .onlyPresets)
    #expect(
      try problem("OnlyPresets", "yes")
        == "--set: HTTP-Gateway.OnlyPresets=yes leaves nothing to ask for: set "
        + "HTTP-Gateway.Presets, such as thumb:300x200:cover")
  }

  @Test func `a variable sets a key, and the option overrides it`() throws {
    let environment = [
      "IMGD_HTTP_GATEWAY_RATE": "5", "IMGD_HTTP_HEURISTIC": "x", "IMGD_SOCKET": "/s",
    ]
    #expect(try load(environment: environment).rate == 5)
    #expect(try load(["--set=HTTP-Gateway.Rate=6"], environment: environment).rate == 6)
    #expect(
      try load(["--listen", "127.0.0.1:9"]).listen == .port(address: "127.0.0.1", port: 9))
  }

  @Test func `a user's own gateway listens beside the user's own daemon`() throws {
    #expect(
      try load(environment: ["XDG_RUNTIME_DIR": "/run/user/7"], uid: 7).listen
        == .unix("/run/user/7/imgd/http.sock"))
    #expect(
      try load(environment: ["CONFIGURATION_DIRECTORY": "/etc/imgd"], uid: 7).listen
        == .unix("/run/imgd/http.sock"))
  }
}
