import Glibc
import ImgdTestSupport
import Testing

/// The gateway's units: a socket that starts it, and a user who cannot do more than ask.
@Suite(.machine) struct GatewayUnitTests {
  private static let socket = "/run/imgd/http.sock"

  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage(configuration: "[HTTP-Gateway]\nAllow=127.0.0.1\n")
    try stage.machine.perform("systemctl start imgd-http.socket")
  }

  /// Asks over HTTP; the status, and the body.
  private func get(_ target: String, as user: String? = nil) throws -> (code: String, body: String) {
    let place = "/tmp/answer"
    let identity = user.map { "setpriv --reuid=\($0) --regid=nogroup --clear-groups " } ?? ""
    let status = try machine.run(
      "rm -f \(place); \(identity)curl -s --max-time 20 --unix-socket \(Self.socket) -o \(place) "
        + "-w '%{http_code}' 'http://localhost\(target)'"
    ).output
    return (status, read(machine.path(place)) ?? "")
  }

  @Test func `it is off until its socket or the service is started`() throws {
    #expect(try machine.state(of: "imgd-http.service") == "inactive")
    #expect(try machine.property("UnitFileState", of: "imgd-http.socket") == "disabled")
  }

  @Test func `the first request starts it and the daemon, and is answered`() throws {
    #expect(try get("/health").code == "200")
    #expect(try machine.state(of: "imgd-http.service") == "active")
    #expect(try machine.state() == "active")
    #expect(try get("/").code == "200")
  }

  @Test func `a picture of an allowed host is handed out`() throws {
    stage.origin.plan("/a", .picture(png()))
    let (code, body) = try get("/fetch?url=" + stage.origin.url("/a"))
    #expect(code == "200", "\(body)")
    #expect(try machine.perform("file --brief --mime-type /tmp/answer") == "image/png")
    #expect(try get("/fetch?url=https://example.org/a").code == "403")
  }

  @Test func `its user is its own, with the group of the daemon`() throws {
    try machine.perform("systemctl start imgd-http.service")
    let process = try machine.process(of: "imgd-http.service")
    let status = try #require(read("/proc/\(process)/status"))
    let user = try machine.perform("id --user imgd-http")
    let group = try machine.perform("getent group imgd | cut -d: -f3")
    #expect(status.contains("\nUid:\t\(user)\t\(user)\t\(user)\t\(user)\n"))
    #expect(
      status.split(separator: "\n").contains { line in
        line.hasPrefix("Groups:")
          && line.split(whereSeparator: { $0 == " " || $0 == "\t" }).contains(group[...])
      })
  }

  /// In what the service sees, as root: the mode of a directory is not what keeps it out. The directory need not be
  /// there when it starts: the daemon makes it, with the first picture that somebody asks for.
  @Test func `it has no way to the cache directory, and may write nowhere`() throws {
    try machine.perform(
      "systemctl stop imgd-http.service imgd.service; rm -rf /var/cache/imgd; "
        + "systemctl start imgd-http.service; systemctl start imgd.service; ls /var/cache/imgd/1")
    let process = try machine.property("MainPID", of: "imgd-http.service")
    let inside = "nsenter --mount --target \(process)"
    #expect(try machine.run("\(inside) ls /var/cache/imgd/1").status != 0)
    #expect(try machine.run("\(inside) touch /run/imgd/a /etc/imgd/a /var/cache/a").status != 0)
  }

  @Test func `doctor says that it works, and why it does not`() throws {
    try machine.perform("systemctl start imgd.service imgd-http.service")
    let well = try machine.run("imgctl doctor")
    #expect(well.output.contains("ok       imgd-http     answers at \(Self.socket)\n"), "\(well)")
    #expect(well.output.contains("ok       configuration good"), "\(well)")
    try machine.perform("openssl rand -hex 32 | install -m 600 /dev/stdin /etc/imgd/http.key")
    try stage.configure("[HTTP-Gateway]\nKeyFile=/etc/imgd/http.key\n")
    let check = try machine.run("imgd-http --check-config")
    #expect(check.status == EX_CONFIG)
    #expect(check.output.contains("chown imgd-http /etc/imgd/http.key, and chmod 400 "), "\(check)")
    #expect(try machine.run("systemctl restart imgd-http.service").status != 0)
    let ill = try machine.run("imgctl doctor")
    #expect(ill.status == 1)
    let finding = "problem  imgd-http     imgd-http.service has failed: "
    #expect(ill.output.contains(finding + "HTTP-Gateway.KeyFile=/etc/imgd/http.key"), "\(ill)")
    try machine.perform("chgrp imgd-http /etc/imgd/http.key; chmod 640 /etc/imgd/http.key")
    try machine.perform("imgd-http --check-config && systemctl restart imgd-http.service")
  }

  @Test func `strangers do not reach its socket`() throws {
    let listing = try machine.perform("stat --format='%U %G %a' \(Self.socket)")
    #expect(listing == "root imgd-http 660")
    #expect(try get("/health", as: "nobody").code == "000")
  }

  @Test func `a port of the loopback interface may take the place of the socket`() throws {
    try machine.perform("systemctl stop imgd-http.socket")
    try machine.extend(
      "imgd-http.socket", with: "[Socket]\nListenStream=\nListenStream=127.0.0.1:8080\n")
    try machine.perform("systemctl start imgd-http.socket")
    let said = try machine.perform(
      "curl -sS --max-time 20 -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/health")
    #expect(said == "200")
  }

  @Test func `a stop takes the socket with it, and a mistake in the configuration leaves it`()
    throws
  {
    try stage.configure("[HTTP-Gateway]\nAlow=example.org\n")
    #expect(try get("/health").code == "000")
    try machine.waitUntil("imgd-http.service", is: "failed")
    #expect(try machine.state(of: "imgd-http.socket") == "active")
    try stage.configure("")
    #expect(try get("/health").code == "200")
    try machine.perform("systemctl stop imgd-http.socket")
    #expect(try machine.state(of: "imgd-http.service") == "inactive")
    #expect(access(machine.path(Self.socket), F_OK) != 0)
  }
}
