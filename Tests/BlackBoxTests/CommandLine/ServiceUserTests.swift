import Glibc
import ImgdTestSupport
import Testing

/// Another /etc than this machine's, which only the programs in a command see.
private enum OtherEtc {
  private static let prelude = """
    set -e
    mount -t tmpfs tmpfs "$SCRATCH"
    mkdir "$SCRATCH/changes" "$SCRATCH/work"
    mount -t overlay -o "lowerdir=/etc,upperdir=$SCRATCH/changes,workdir=$SCRATCH/work" imgd /etc
    printf 'imgd:x:4711:4711::/:/bin/false\\nimgd-http:x:4712:4712::/:/bin/false\\n' >>/etc/passwd
    printf 'imgd:x:4711:\\nimgd-http:x:4712:\\npictures:x:4713:imgd\\n' >>/etc/group
    rm -rf /etc/imgd
    # Without the sockets of a service that runs on this machine.
    mount -t tmpfs tmpfs /run
    install -d -m 755 /etc/imgd /etc/imgd/imgd.conf.d
    cd /etc/imgd
    echo '[Memory]' >imgd.conf
    set +e

    """

  static let isPossible: Bool = {
    guard geteuid() == 0, access("/usr/bin/unshare", X_OK) == 0 else { return false }
    return (try? perform("true"))?.code == 0
  }()

  /// Runs a command line there, as root.
  static func perform(_ line: String) throws -> (code: CInt, output: String) {
    let scratch = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(scratch) }
    return try ChildProcess.run(
      "/usr/bin/unshare", ["--mount", "/bin/sh", "-c", prelude + line],
      environment: [
        "PATH=/usr/bin:/bin", "SCRATCH=\(scratch)", "IMGD=\(BuiltProduct.path(of: "imgd"))",
        "GATEWAY=\(BuiltProduct.path(of: "imgd-http"))",
      ])
  }
}

/// `--check-config` by root, who may read everything, of a configuration that a service reads as another user.
@Suite(.enabled(if: OtherEtc.isPossible)) struct ServiceUserTests {
  @Test(
    arguments: [
      ("chmod 600 imgd.conf", "/etc/imgd/imgd.conf", "chmod o+r /etc/imgd/imgd.conf"),
      (
        "touch imgd.conf.d/a.conf; chmod 000 imgd.conf.d/a.conf", "/etc/imgd/imgd.conf.d/a.conf",
        "chmod o+r /etc/imgd/imgd.conf.d/a.conf"
      ),
      (
        "touch imgd.conf.d/a.conf; chmod 700 imgd.conf.d", "/etc/imgd/imgd.conf.d",
        "chmod o+rx /etc/imgd/imgd.conf.d"
      ),
      (
        "mkdir -m 700 keys; printf '[Network]\\nCAFile=/etc/imgd/keys/ca\\n' >imgd.conf; echo >keys/ca",
        "/etc/imgd/keys/ca", "its directory is closed, chmod o+x /etc/imgd/keys"
      ),
      (
        """
        umask 077; echo x >word; chmod 644 imgd.conf
        printf '[Fleet]\\nServer=unix:/s\\nPasswordFile=/etc/imgd/word\\n' >imgd.conf
        """, "/etc/imgd/word",
        "chown imgd /etc/imgd/word, and chmod 400 /etc/imgd/word"
      ),
      (
        """
        umask 077; echo x >key; chmod 644 imgd.conf
        printf '[Fleet]\\nServer=rediss://s:1\\nKeyFile=/etc/imgd/key\\nCertificateFile=/etc/imgd/imgd.conf\\n' >imgd.conf
        """, "/etc/imgd/key", "chown imgd /etc/imgd/key, and chmod 400 /etc/imgd/key"
      ),
    ] as [(String, String, String)])
  func `a file that is closed to the service is a mistake`(
    doing: String, file: String, remedy: String
  ) throws {
    let (code, output) = try OtherEtc.perform(doing + #"; "$IMGD" --check-config"#)
    #expect(code == EX_CONFIG)
    let sentence =
      "imgd: error: \(file) cannot be read by the user imgd, as whom the service runs: "
    #expect(output.hasPrefix(sentence + remedy), "\(output)")
    // What is advised helps.
    let commands = remedy.replacing("its directory is closed, ", with: "")
      .replacing(", and ", with: "; ")
    let second = try OtherEtc.perform(doing + "; \(commands)" + #"; "$IMGD" --check-config"#)
    #expect(second == (0, "the configuration is good\n"))
  }

  @Test(arguments: [
    "chgrp imgd imgd.conf; chmod 640 imgd.conf",
    // By a group beside its own.
    "chgrp pictures imgd.conf; chmod 640 imgd.conf",
    "rm imgd.conf",
    // A draft is not what the service reads.
    "mv imgd.conf draft; chmod 600 draft; set -- --config /etc/imgd/draft",
    // No such user: nobody knows who runs it.
    "grep -v imgd /etc/passwd >p; cat p >/etc/passwd; chmod 600 imgd.conf",
  ])
  func `what the service may read is good`(doing: String) throws {
    let result = try OtherEtc.perform(doing + #"; "$IMGD" --check-config "$@""#)
    #expect(result == (0, "the configuration is good\n"))
  }

  @Test func `the gateway's secrets are looked at as its user`() throws {
    let keys =
      "umask 077; echo 0123456789abcdef >http.key; "
      + "printf '[HTTP-Gateway]\\nKeyFile=/etc/imgd/http.key\\n' >imgd.conf; chmod 644 imgd.conf"
    let closed = try OtherEtc.perform(keys + #"; "$GATEWAY" --check-config"#)
    #expect(closed.code == EX_CONFIG)
    #expect(
      closed.output
        == "imgd-http: error: /etc/imgd/http.key cannot be read by the user imgd-http, as whom the "
        + "service runs: chown imgd-http /etc/imgd/http.key, and chmod 400 /etc/imgd/http.key\n")
    let open = try OtherEtc.perform(
      keys + #"; chgrp imgd-http http.key; chmod 640 http.key; "$GATEWAY" --check-config"#)
    #expect(open == (0, "the configuration is good\n"))
  }

  @Test(arguments: [
    ("/run/secrets/imgd", "444", true), ("/run/secrets/imgd", "446", false), ("/run/imgd", "444", false),
  ])
  func `a secret that a container's runtime has put in its place may be open`(
    directory: String, mode: String, isGood: Bool
  ) throws {
    let key =
      "mount -t tmpfs run /run; mkdir -p \(directory); echo 0123456789abcdef >\(directory)/key; "
      + "chmod \(mode) \(directory)/key; "
    let result = try OtherEtc.perform(
      key + #""$GATEWAY" --check-config --set HTTP-Gateway.KeyFile=\#(directory)/key"#)
    #expect(result.code == (isGood ? 0 : EX_CONFIG))
    #expect(isGood || result.output.contains("is open to every user (mode 0\(mode))"), "\(result.output)")
  }

  @Test func `the gateway's user must be let in by the daemon`() throws {
    let socket = #"touch s; chgrp imgd s; chmod 660 s; "#
    let check = #""$GATEWAY" --check-config --socket /etc/imgd/s"#
    let closed = try OtherEtc.perform(socket + check)
    #expect(closed.code == EX_CONFIG)
    #expect(
      closed.output
        == "imgd-http: error: /etc/imgd/s is closed to the user imgd-http, as whom the service runs: "
        + "adduser imgd-http imgd, or SupplementaryGroups=imgd in its unit\n")
    let member = "sed -i '/^imgd:/s/$/imgd-http/' /etc/group; "
    #expect(try OtherEtc.perform(socket + member + check) == (0, "the configuration is good\n"))
  }
}
