import ImgdFleet
import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

/// The complaint of a format about a text; nil where it is taken.
private func complaint(_ format: ValueFormat<String>, _ text: String) -> String? {
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
    ] as [(String, FleetSettings.Server)])
  func `a server is a socket, or a host and a port`(text: String, server: FleetSettings.Server) {
    var fleet = Configuration.Fleet()
    fleet.server = text
    #expect(complaint(.fleetServer, text) == nil)
    #expect(FleetSettings(fleet)?.server == server)
  }

  @Test(arguments: [
    "redis", "redis:", ":6379", "redis:0", "redis:65536", "redis:6379/0", "redis://redis:6379",
    "user@redis:6379", "fd00::7:6379", "[fd00::7]", "[fd00::7:6379", "[]:6379", "re dis:6379",
    "tcp:redis", "/run/redis.sock", "redis:6379:", "rédis:6379",
  ])
  func `a text that is no server is refused with the forms of one`(text: String) {
    #expect(
      complaint(.fleetServer, text)
        == "is not a server: write unix:/path, host:port or [IPv6 address]:port")
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

  @Test func `a reload changes no server`() throws {
    var fleet = Configuration.Fleet()
    fleet.server = "unix:/s"
    var settings = try #require(FleetSettings(fleet))
    fleet.server = "other:6379"
    fleet.user = "u"
    fleet.passwordFile = "/p"
    fleet.namespace = "n"
    fleet.maxObject = 7
    fleet.timeout = .seconds(1)
    settings.adopt(fleet)
    #expect(
      settings
        == FleetSettings(server: .unix(path: "/s"), maxObject: 7, timeout: .seconds(1)))
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
    #expect(
      FleetSettings(fleet)
        == FleetSettings(
          server: .unix(path: "/s"), user: "imgd", passwordFile: "/p", namespace: "n", maxObject: 7,
          timeout: .seconds(1)))
  }
}
