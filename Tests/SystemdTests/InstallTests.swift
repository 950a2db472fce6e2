import Glibc
import ImgdTestSupport
import Testing

/// `make install` and `make uninstall`, on a machine that never had imgd.
@Suite(.machine) struct InstallTests {
  private let machine: Machine

  init() throws {
    machine = try Machine()
    try machine.perform("rm -rf /var/cache/imgd /etc/imgd")
  }

  private func make(_ words: String) throws {
    try machine.perform("make --silent --directory=\(Project.root) \(words)")
  }

  @Test func `a directory to stage in may have a space in its name`() throws {
    let stage = "PREFIX=/usr/ DESTDIR='/tmp/to stage/'"
    // What an uninstall that stops at the space would take for its own.
    try machine.write("", to: "/tmp/to")
    try make("install \(stage)")
    let unit = try machine.perform("cat '/tmp/to stage/usr/lib/systemd/system/imgd.service'")
    #expect(unit.contains("\nExecStart=/usr/bin/imgd\n"))
    try machine.perform("'/tmp/to stage/usr/bin/imgctl' --version")
    // The client is on machines where nobody else needs Swift (decision 20).
    let size = try machine.perform("stat --format=%s '/tmp/to stage/usr/bin/imgctl'")
    #expect(try #require(Int(size)) <= 4_000_000, "that is too large to be without a runtime")
    let decoder = try machine.run("'/tmp/to stage/usr/lib/imgd/imgd-decoder'")
    #expect(decoder == (64, "imgd-decoder is started by imgd.\n"))
    for (shell, place) in [
      ("bash", "bash-completion/completions/imgctl"), ("zsh", "zsh/vendor-completions/_imgctl"),
      ("fish", "fish/vendor_completions.d/imgctl.fish"),
    ] {
      let installed = try machine.perform("cat '/tmp/to stage/usr/share/\(place)'")
      let said = try machine.perform("'/tmp/to stage/usr/bin/imgctl' completion \(shell)")
      #expect(said == installed)
    }
    let gateway = try machine.perform(
      "cat '/tmp/to stage/usr/lib/systemd/system/imgd-http.service'")
    #expect(gateway.contains("\nExecStart=/usr/bin/imgd-http --socket "))
    try machine.perform("test -d '/tmp/to stage/etc/imgd/imgd.conf.d'")
    let page = try machine.perform("cat '/tmp/to stage/usr/share/man/man8/imgd.8'")
    #expect(page.contains("\n.ds PREFIX /usr\n"))

    try make("uninstall \(stage)")
    #expect(try machine.perform("find '/tmp/to stage' -type f -or -name imgd") == "")
    #expect(access(machine.path("/tmp/to"), F_OK) == 0)
    #expect(access(machine.path("/tmp/to stage/usr/lib/imgd"), F_OK) != 0)
    #expect(try machine.property("LoadState") == "not-found")
  }

  @Test func `a configuration that was changed outlives an uninstall`() throws {
    try make("install DESTDIR=/tmp/stage")
    try machine.write("[Memory]\n", to: "/tmp/stage/etc/imgd/imgd.conf")
    try make("uninstall DESTDIR=/tmp/stage")
    #expect(try machine.perform("find /tmp/stage -type f") == "/tmp/stage/etc/imgd/imgd.conf")
  }

  @Test func `systemd starts what lies below a prefix that it does not know`() throws {
    let prefix = "PREFIX='/opt/own & 100% mine'"
    try make("install \(prefix)")
    try make("install \(prefix)")
    #expect(try machine.perform("systemd-analyze verify --man=no imgd.service") == "")
    try machine.perform("systemctl enable --now imgd.service")
    try machine.perform("'/opt/own & 100% mine/bin/imgctl' ping && systemctl reload imgd.service")

    try make("uninstall PREFIX=/usr/local")
    #expect(try machine.state() == "active", "that is another one")
    try make("uninstall \(prefix)")
    for unit in ["imgd.service", "imgd.socket", "imgd-http.service", "imgd-http.socket"] {
      #expect(try machine.property("LoadState", of: unit) == "not-found")
    }
    #expect(try machine.perform("find /opt/own* /etc/systemd -name '*imgd*' -not -type d") == "")
    #expect(access(machine.path("/run/imgd"), F_OK) != 0)
  }

  @Test func `what is installed over another can be started at any moment`() throws {
    try make("install")
    try machine.perform(
      """
      while ! [ -e /tmp/enough ]; do imgctl --version >/dev/null || echo broken; done >/tmp/said 2>&1 &
      for time in 1 2 3; do make --silent --directory=\(Project.root) install; done
      touch /tmp/enough; wait
      """)
    #expect(read(machine.path("/tmp/said")) == "")
    #expect(try machine.perform("find /usr/local/bin /usr/local/lib -name '*.new'") == "")
  }

  @Test func `an image that is made without a systemd that runs has the user`() throws {
    try machine.perform("userdel imgd 2>/dev/null; ! getent passwd imgd")
    try machine.perform(
      """
      unshare --mount sh -c 'mount -t tmpfs tmpfs /run && \
        make --silent --directory=\(Project.root) install && test -z "$(ls /run)"'
      """)
    try machine.perform("getent passwd imgd imgd-http && getent group imgd imgd-http imgd-admin")
  }

  @Test(arguments: ["opt", "", "'/opt/a\"b'", "'/opt/a;b'"])
  func `a prefix that cannot be is refused before anything is done`(prefix: String) throws {
    let (status, output) = try machine.run(
      "make --silent --directory=\(Project.root) install PREFIX=\(prefix)")
    #expect(status == 2)
    #expect(output.contains("PREFIX"))
    #expect(access(machine.path("/etc/imgd"), F_OK) != 0)
  }
}
