import ImgdFleet
import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

/// The complaint of a format about a text; nil where it is taken.
private func complaint<Value>(_ format: ValueFormat<Value>, _ text: String) -> String? {
  do throws(WrongValue) {
    _ = try format.parse(text)
    return nil
  } catch { return error.complaint }
}

struct FleetValueTests {
  @Test(
    arguments: [
      ("unix:/run/redis/redis-server.sock", .unix(path: "/run/redis/redis-server.sock")),
      (
        "unix:/" + String(repeating: "a", count: 106),
        .unix(path: "/" + String(repeating: "a", count: 106))
      ),
      ("cache.example.org:6379", .tcp(host: "cache.example.org", port: 6379)),
      ("10.0.0.7:1", .tcp(host: "10.0.0.7", port: 1)),
      ("[fd00::7]:65535", .tcp(host: "fd00::7", port: 65_535)),
      ("rediss://cache.example.org:6379", .tcp(host: "cache.example.org", port: 6379, isSecure: true)),
      ("rediss://[fd00::7]:6379", .tcp(host: "fd00::7", port: 6379, isSecure: true)),
      ("sentinel://a/m", .sentinel([.init(host: "a", port: 26_379)], master: "m")),
      (
        "sentinel://a:1,[fd00::7],[fd00::8]:2,10.0.0.1/my-master.1_2",
        .sentinel(
          [
            .init(host: "a", port: 1), .init(host: "fd00::7", port: 26_379), .init(host: "fd00::8", port: 2),
            .init(host: "10.0.0.1", port: 26_379),
          ], master: "my-master.1_2")
      ),
    ] as [(String, FleetSettings.Server)])
  func `a server is a socket, a host and a port, or what Sentinels know`(text: String, server: FleetSettings.Server) {
    var fleet = Configuration.Fleet()
    fleet.server = text
    #expect(complaint(.fleetServer, text) == nil)
    #expect(FleetSettings(fleet)?.server == server)
    #expect((try? FleetSettings.Server(server.description)) == server)
  }

  @Test(arguments: [
    ("sentinel://a", "names no master: write sentinel://host,host,host/master, with its name of A-Z a-z 0-9 . _ -"),
    ("sentinel://a/", "names no master"), ("sentinel://a/m/0", "names no master"),
    ("sentinel://a/m m", "names no master"),
    (
      "sentinel:///m",
      "is not a list of Sentinels: write sentinel://host:port,host:port/master, with at most 8 of them"
    ),
    ("sentinel://a,/m", "is not a list of Sentinels"), ("sentinel://a:0/m", "has the port 0: ports are 1 to 65535"),
    ("sentinel://a,b:26379,a:26379/m", "names the Sentinel a:26379 twice: write it once"),
    ("sentinel://u@a/m", "is not a list of Sentinels"), ("sentinel://fd00::7/m", "is not a list of Sentinels"),
    ("sentinel://a,b,c,d,e,f,g,h,i/m", "is not a list of Sentinels"),
  ])
  func `a text that names no Sentinels is refused, with what would be right`(text: String, beginning: String) {
    #expect(complaint(.fleetServer, text)?.hasPrefix(beginning) == true)
  }

  @Test func `servers for pictures are separated by blanks, and each is named once`() {
    let servers = try? ValueFormat.fleetServers.parse("a:1\tsentinel://b,c/m  unix:/s")
    #expect(servers == ["a:1", "sentinel://b,c/m", "unix:/s"])
    #expect(complaint(.fleetServers, "a:1 b:2 a:1") == "contains 'a:1' twice: write each server once")
    #expect(complaint(.fleetServers, "a:1 A:1") == "contains 'A:1' twice: write each server once")
    #expect(complaint(.fleetServers, "unix:/a unix:/A") == nil)
    let comma = complaint(.fleetServers, "a:1, b:2")
    #expect(comma?.hasPrefix("contains 'a:1,', which is not a server: write unix:") == true)
    let many = (1...65).map { "a:\($0)" }
    #expect(complaint(.fleetServers, many.joined(separator: " ")) == "names 65 servers: write at most 64")
    #expect(complaint(.fleetServers, many.dropLast().joined(separator: " ")) == nil)
  }

  @Test(arguments: [
    "redis", "redis:", ":6379", "rediss://", "rediss://redis", "rediss://u:p@redis:6379", "rediss://redis:6379/0",
    "redis:6379/0", "redis://redis:6379",
    "user@redis:6379", "fd00::7:6379", "[fd00::7]", "[fd00::7:6379", "[]:6379", "re dis:6379",
    "tcp:redis", "/run/redis.sock", "redis:6379:", "rédis:6379",
  ])
  func `a text that is no server is refused with the forms of one`(text: String) {
    #expect(
      complaint(.fleetServer, text)
        == "is not a server: write unix:/path, host:port, [IPv6 address]:port, rediss://host:port or "
        + "sentinel://host,host,host/master")
  }

  @Test(arguments: ["redis:0", "redis:65536", "rediss://redis:70000"])
  func `a port that does not exist is named`(text: String) throws {
    let port = try #require(text.split(separator: ":").last)
    #expect(complaint(.fleetServer, text) == "has the port \(port): ports are 1 to 65535")
  }

  @Test func `what does not fit together is named`() {
    func problems(_ change: (inout Configuration.Fleet) -> Void) -> [String] {
      var configuration = Configuration()
      change(&configuration.fleet)
      return configuration.contradictions { _ in "1" }
    }
    let pictures = problems { $0.pictures = ["a:1"] }
    #expect(pictures == ["1: Fleet.Pictures needs Fleet.Server, which has the purges: set Fleet.Server"])
    let certificate = problems { $0.certificateFile = "/crt" }
    #expect(certificate == ["1: Fleet.CertificateFile is of no use without Fleet.KeyFile: set both or none"])
    let key = problems { $0.keyFile = "/key" }
    #expect(key == ["1: Fleet.KeyFile is of no use without Fleet.CertificateFile: set both or none"])
    #expect(problems { ($0.certificateFile, $0.keyFile, $0.server, $0.pictures) = ("/c", "/k", "a:1", ["b:1"]) } == [])
  }

  @Test(arguments: [
    ("unix:", "is not an absolute path: begin with /"),
    ("unix:run/redis.sock", "is not an absolute path: begin with /"),
    ("unix:/" + String(repeating: "a", count: 107), "is too long: write at most 107 bytes"),
  ])
  func `a socket has an absolute path that fits`(text: String, sentence: String) {
    #expect(complaint(.fleetServer, text) == sentence)
  }

  @Test(arguments: ["imgd", "a", "shop:img_1.0-b", String(repeating: "n", count: 64)])
  func `a namespace has no characters of patterns`(text: String) {
    #expect(complaint(.namespace, text) == nil)
  }

  @Test(arguments: [
    "", "a b", "img*", "{imgd}", "img?", "a[b]", "ü", String(repeating: "n", count: 65),
  ])
  func `a text that is no namespace is refused`(text: String) {
    #expect(
      complaint(.namespace, text) == "is not a namespace: write 1 to 64 of A-Z a-z 0-9 : _ . -")
  }

  @Test(arguments: ["a b", "a\tb", "ü", "a\\", "\u{7f}"])
  func `a user is one word`(text: String) {
    #expect(complaint(.oneWord(longest: 64), text)?.hasPrefix("is not one word") == true)
    #expect(complaint(.oneWord(longest: 3), "abcd") == "is too long: write at most 3 bytes")
  }

  @Test func `a machine alone has no settings of an engine`() {
    #expect(FleetSettings(Configuration.Fleet()) == nil)
  }

  @Test func `settings reach the engine`() {
    var fleet = Configuration.Fleet()
    fleet.server = "unix:/s"
    #expect(FleetSettings(fleet) == FleetSettings(server: .unix(path: "/s")))
    fleet.user = "imgd"
    fleet.passwordFile = "/p"
    fleet.namespace = "n"
    fleet.maxObject = 7
    fleet.timeout = .seconds(1)
    fleet.pictures = ["unix:/p0", "a:1"]
    (fleet.caFile, fleet.serverName, fleet.certificateFile, fleet.keyFile) = ("/ca", "name", "/crt", "/key")
    #expect(
      FleetSettings(fleet)
        == FleetSettings(
          server: .unix(path: "/s"), pictures: [.unix(path: "/p0"), .tcp(host: "a", port: 1)], user: "imgd",
          passwordFile: "/p",
          tls: TLSSettings(caFile: "/ca", serverName: "name", certificateFile: "/crt", keyFile: "/key"),
          namespace: "n", maxObject: 7, timeout: .seconds(1)))
  }
}
