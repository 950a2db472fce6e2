import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The Debian package on a machine that never had one: its whole life there.
@Suite(.machine, .debhelper) struct PackageTests {
  private let machine: Machine
  private let origin: OriginServer

  init() throws {
    machine = try Machine(layers: [Layer.packages])
    origin = try machine.origin()
    // What an imgd of the machine outside has left, and what keeps packages from starting services.
    try machine.perform("rm -rf /var/cache/imgd /etc/imgd /usr/sbin/policy-rc.d")
  }

  @Test func `it serves from its installation to its removal, and goes without a trace`() throws {
    defer { origin.stop() }
    origin.plan("/a", .picture(png()))
    try install(version: "0.0.1")
    try expectService()
    try expectPathsOfPackage()
    let kept = try fetch()
    // As README.Debian has it.
    let text = try #require(read(Project.path("debian/README.Debian")))
    let command = """
      printf '[HTTP-Gateway]\\nAllow=example.org\\n' \\
            > /etc/imgd/imgd.conf.d/http.conf
      """
    #expect(text.contains("    " + command))
    try machine.perform(command)

    let socket = try machine.property("InvocationID", of: "imgd.socket")
    let service = try machine.property("InvocationID")
    try install(version: "0.0.2")
    try expectService()
    #expect(try machine.property("InvocationID") != service)
    #expect(try machine.property("InvocationID", of: "imgd.socket") == socket)
    #expect(try fetch() == kept)

    try machine.perform("dpkg --no-triggers --remove imgd")
    try expectNoService()
    #expect(access(machine.path(kept), F_OK) == 0)
    try machine.write("[Memory]\n", to: "/etc/imgd/imgd.conf")

    try install(version: "0.0.2")
    try expectService()
    #expect(try fetch() == kept)
    #expect(origin.count("/a") == 1)

    try machine.perform("dpkg --no-triggers --purge imgd")
    try expectNoService()
    for place in ["/var/cache/imgd", "/etc/imgd"] {
      #expect(access(machine.path(place), F_OK) != 0, "\(place) is left")
    }
    let links = try machine.perform("find /etc/systemd /var/lib/systemd -name '*imgd*'")
    #expect(links == "")
  }

  @Test func `a cache on a disk of its own is no obstacle to a purge`() throws {
    defer { origin.stop() }
    origin.plan("/a", .picture(png()))
    try machine.perform("mkdir /var/cache/imgd && mount -t tmpfs tmpfs /var/cache/imgd")
    try install(version: "0.0.1")
    let kept = try fetch()
    #expect(kept.hasPrefix("/var/cache/imgd/"))

    try machine.perform("dpkg --no-triggers --purge imgd")
    #expect(try machine.run("dpkg-query -W imgd").status == 1)
    #expect(try machine.perform("ls -A /var/cache/imgd") == "")
  }

  @Test func `a purge from another root leaves this machine alone`() throws {
    defer { origin.stop() }
    origin.plan("/a", .picture(png()))
    try install(version: "0.0.1")
    let kept = try fetch()
    let dpkg = "dpkg --root=/tmp/other --force-script-chrootless --force-depends --no-triggers"
    try machine.perform(
      """
      mkdir -p /tmp/other/etc /tmp/other/run/imgd /tmp/other/var/lib/dpkg/updates \
        /tmp/other/var/lib/dpkg/info
      touch /tmp/other/var/lib/dpkg/status
      \(dpkg) --install /srv/packages/0.0.1/imgd_*.deb && \(dpkg) --purge imgd
      """)
    #expect(try machine.perform("find /tmp/other -name imgd -not -path '*/dpkg/*'") == "")
    #expect(access(machine.path(kept), F_OK) == 0)
    #expect(access(machine.path("/etc/imgd/imgd.conf"), F_OK) == 0)
    try expectService()
  }

  /// Libraries of the decoder are many, and a machine that only keeps pictures does without them.
  @Test func `what only the decoder needs is recommended`() throws {
    func field(_ name: String) throws -> String {
      try machine.perform("dpkg-deb --field /srv/packages/0.0.1/imgd_*.deb \(name)")
    }
    let depends = try field("Depends")
    #expect(depends.contains("libcurl"))
    for library in ["libvips", "magick", "glib", "jpeg", "seccomp"] {
      #expect(!depends.contains(library), "\(depends)")
    }
    let recommends = try field("Recommends")
    for package in ["ca-certificates", "libvips42", "libseccomp2", "jpeg"] {
      #expect(recommends.contains(package), "\(recommends)")
    }
  }

  @Test func `the gateway is a package of its own, and off until it is enabled`() throws {
    defer { origin.stop() }
    let units = ["imgd-http.service", "imgd-http.socket"]
    try install(version: "0.0.1")
    #expect(try machine.run("dpkg -L imgd").output.contains("imgd-http") == false)
    try machine.perform("dpkg --no-triggers --install /srv/packages/0.0.1/imgd-http_*.deb")
    for unit in units {
      #expect(try machine.state(of: unit) == "inactive")
      #expect(try machine.property("UnitFileState", of: unit) == "disabled")
    }
    try machine.perform("getent passwd imgd-http && /usr/bin/imgd-http --check-config")
    // Nobody was asked, and it is no administrator of imgd until somebody says so.
    #expect(try !machine.run("id --name --groups imgd-http").output.contains("imgd-admin"))
    try machine.perform(
      "echo imgd-http imgd-http/admin boolean true | debconf-set-selections && "
        + "DEBIAN_FRONTEND=noninteractive dpkg-reconfigure imgd-http")
    #expect(try machine.run("id --name --groups imgd-http").output.contains("imgd-admin"))

    // One that runs is another one after an upgrade, and its socket is the same.
    try machine.perform("systemctl enable --now imgd-http.service")
    let socket = try machine.property("InvocationID", of: "imgd-http.socket")
    let service = try machine.property("InvocationID", of: "imgd-http.service")
    try machine.perform(
      "dpkg --no-triggers --install /srv/packages/0.0.2/imgd_*.deb /srv/packages/0.0.2/imgd-http_*.deb"
    )
    #expect(try machine.property("InvocationID", of: "imgd-http.service") != service)
    #expect(try machine.property("InvocationID", of: "imgd-http.socket") == socket)

    try machine.perform("dpkg --no-triggers --purge imgd-http")
    for unit in units { #expect(try machine.property("LoadState", of: unit) == "not-found") }
    #expect(access(machine.path("/run/imgd/http.sock"), F_OK) != 0)
    #expect(try machine.perform("find /etc/systemd /var/lib/systemd -name '*imgd-http*'") == "")
    try expectService()
  }

  /// In Python as Debian has it, which looks nowhere else.
  @Test func `the module for Python serves from its installation to its removal`() throws {
    defer { origin.stop() }
    origin.plan("/a", .picture(png()))
    try install(version: "0.0.1")
    let program = """
      import imgd
      with imgd.Client() as client:
          print(client.fetch("\(origin.url("/a"))").path)
      """
    try machine.write(program, to: "/tmp/fetch.py")
    #expect(try machine.run("/usr/bin/python3 /tmp/fetch.py").status == 1)

    try machine.perform("dpkg --no-triggers --install /srv/packages/0.0.1/python3-imgd_*.deb")
    let path = try machine.perform("/usr/bin/python3 /tmp/fetch.py")
    #expect(try path == fetch())
    let typed = "/usr/lib/python3/dist-packages/imgd/py.typed"
    #expect(try machine.perform("dpkg --search \(typed)") == "python3-imgd: \(typed)")

    try machine.perform("dpkg --no-triggers --purge python3-imgd")
    #expect(access(machine.path("/usr/lib/python3/dist-packages/imgd"), F_OK) != 0)
    try expectService()
  }

  private func install(version: String) throws {
    try machine.perform("dpkg --no-triggers --install /srv/packages/\(version)/imgd_*.deb")
    #expect(try machine.perform("dpkg-query -W -f '${Version}' imgd") == version)
  }

  private func expectService() throws {
    for unit in ["imgd.service", "imgd.socket"] {
      #expect(try machine.state(of: unit) == "active")
      #expect(try machine.property("UnitFileState", of: unit) == "enabled")
    }
    try machine.perform("/usr/bin/imgctl ping")
    let ofUsers = try machine.run("systemctl --global is-enabled imgd.socket").output
    #expect(ofUsers == "disabled\n")
  }

  /// No file names the place where `make install` would have put the programs.
  private func expectPathsOfPackage() throws {
    let page = try machine.perform("zcat /usr/share/man/man8/imgd.8.gz")
    #expect(page.contains("\n.ds PREFIX /usr\n"))
    let unit = try machine.perform("cat /lib/systemd/system/imgd.service")
    #expect(unit.contains("\nExecReload=!/usr/bin/imgctl "))
    let (status, files) = try machine.run(
      "find $(dpkg -L imgd) -maxdepth 0 -type f -exec zgrep -l /usr/local {} +")
    #expect(files == "", "find ended with \(status)")
  }

  private func expectNoService() throws {
    for unit in ["imgd.service", "imgd.socket"] {
      #expect(try machine.state(of: unit) == "inactive")
      #expect(try machine.property("LoadState", of: unit) == "not-found")
    }
    #expect(access(machine.path("/run/imgd"), F_OK) != 0)
    #expect(try machine.run("pgrep -x imgd").output == "")
  }

  /// Where the picture is inside.
  private func fetch() throws -> String {
    let answer = try machine.connect().ask(
      #"{"cmd":"fetch","url":"\#(origin.url("/a"))"}"#)
    return try #require(answer["path"]?.string, "\(answer.text)")
  }
}

extension Trait where Self == ConditionTrait {
  /// Skipped, with the reason, where Debian packages cannot be made.
  static var debhelper: Self {
    .enabled(if: access("/usr/bin/dh", X_OK) == 0, "there is no debhelper: `make deb` installs it")
  }
}
