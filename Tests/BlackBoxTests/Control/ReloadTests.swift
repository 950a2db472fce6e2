import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A configuration that changes under a daemon that runs.
struct ReloadTests {
  /// What a daemon that runs as this user has not by default.
  private static let other = geteuid() < 1_000 ? "all" : "own"

  /// Every key, with a value that is not its default.
  private static let everything = """
    [Control]
    MaxClients=77
    MaxLine=8K
    MaxInline=1K
    Allow=root nobody
    Admins=root daemon
    See=\(other)
    Purge=\(other)
    Share=own
    Put=\(other)
    [Memory]
    Capacity=50M
    Preferred=20M
    MaxEntry=10M
    Pressure=off
    [Disk]
    Enabled=no
    Directory=/var/cache/elsewhere
    Capacity=9M
    TrimTo=40%
    MaxAge=1d
    MinFree=2%
    Lease=5s
    Originals=keep
    [Downloads]
    MaxActive=9
    MaxPerHost=3
    Threads=3
    Order=lifo
    Orphans=finish
    ConnectTimeout=3s
    IdleTimeout=4s
    Timeout=5s
    MaxBytes=5M
    MaxRedirects=1
    Retries=0
    UserAgent=another/1
    AcceptTypes=png
    [HTTP]
    DefaultFreshness=3s
    Heuristic=20%
    NegativeFreshness=1s
    StaleIfError=1h
    MaxTTL=1h
    CredentialFields=x-who
    [Network]
    Private=allow
    Allow=10.0.0.0/8
    Deny=192.0.2.0/24
    Proxy=socks5h://127.0.0.1:9
    NoProxy=*.example.org
    Offline=off
    CAFile=/etc/ssl/other.crt
    [Decode]
    Workers=3
    MaxPixels=1000000
    MaxFrames=10
    MaxDimension=4096
    Timeout=5s
    Memory=128M
    IdleExit=1s
    Sandbox=best-effort
    [Fleet]
    Server=unix:/run/other.sock
    Pictures=other:6379
    User=other
    PasswordFile=/etc/other
    CAFile=/etc/ssl/other.crt
    ServerName=other
    CertificateFile=/etc/other.crt
    KeyFile=/etc/other.key
    Namespace=other
    MaxObject=2M
    Timeout=20ms
    TTL=1h

    """

  private func pairs(_ value: JSONValue?) -> [String: JSONValue] {
    var all: [String: JSONValue] = [:]
    for section in value?.object ?? [] {
      for key in section.value.object ?? [] { all["\(section.name).\(key.name)"] = key.value }
    }
    return all
  }

  @Test func `every key changes at once, except those that need a restart`() throws {
    let stage = try Stage(configuration: "")
    let before = pairs(try stage.client.ask(#"{"cmd":"config"}"#)["config"])
    try stage.daemon.rewrite(configuration: Self.everything)
    let answer = try stage.client.ask(#"{"cmd":"reload"}"#)
    let changed = Set((answer["changed"]?.array ?? []).compactMap(\.string))
    let waiting = Set((answer["needs_restart"]?.array ?? []).compactMap(\.string))
    // The command line overrides the file.
    #expect(
      waiting == [
        "Disk.Enabled", "Downloads.Threads", "Fleet.Server", "Fleet.Pictures", "Fleet.User",
        "Fleet.PasswordFile", "Fleet.CAFile", "Fleet.ServerName", "Fleet.CertificateFile", "Fleet.KeyFile",
        "Fleet.Namespace",
      ])
    #expect(
      changed
        == Set(before.keys).subtracting(["Control.Socket", "Disk.Directory", "Memory.Pressure"]))
    let after = pairs(try stage.client.ask(#"{"cmd":"config"}"#)["config"])
    for (key, value) in before {
      #expect((after[key] != value) == changed.subtracting(waiting).contains(key), "\(key)")
    }
  }

  @Test func `another socket waits for a restart`() throws {
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    let file = directory + "/imgd.conf"
    func write(socket: String) throws {
      try ImgdTestSupport.write(
        "[Control]\nSocket=\(directory)/\(socket)\n[Disk]\nEnabled=no\n", to: file)
    }
    try write(socket: "a")
    let pid = try ChildProcess.spawn(BuiltProduct.path(of: "imgd"), ["--config", file])
    defer {
      kill(pid, SIGTERM)
      #expect(ChildProcess.wait(pid) == 0)
    }
    var client: TestClient?
    #expect(
      try becomes {
        client = try? TestClient(socket: directory + "/a")
        return client != nil
      })
    try write(socket: "b")
    let answer = try #require(client).ask(#"{"cmd":"reload"}"#)
    #expect(answer["needs_restart"] == .array([.string("Control.Socket")]))
    #expect(answer["changed"] == .array([.string("Control.Socket")]))
  }

  @Test func `the next download uses the new file`() throws {
    let stage = try Stage(configuration: "")
    for path in ["/a", "/b"] { stage.origin.plan(path, .picture(png(1_000))) }
    try stage.fetch("/a")
    try stage.daemon.rewrite(configuration: "[Downloads]\nUserAgent=another/1\n")
    #expect(try stage.client.ask(#"{"cmd":"reload"}"#)["ok"] == .bool(true))
    try stage.fetch("/b")
    let names = ["/a", "/b"].map { stage.origin.requests($0).first?.header("user-agent") }
    #expect(names.first != names.last)
    #expect(names.last == "another/1")
  }

  @Test func `a missing file of certificates is reported at the start and after`()
    throws
  {
    let stage = try Stage(configuration: "[Network]\nCAFile=/nowhere/first.pem\n")
    _ = try stage.client.ask(#"{"cmd":"ping"}"#)
    #expect(stage.daemon.log.contains("CAFile=/nowhere/first.pem cannot be read"))
    try stage.daemon.rewrite(configuration: "[Network]\nCAFile=/nowhere/second.pem\n")
    let answer = try stage.client.ask(#"{"cmd":"reload"}"#)
    #expect(answer["changed"] == .array([.string("Network.CAFile")]), "and it is no mistake")
    #expect(stage.daemon.log.contains("CAFile=/nowhere/second.pem cannot be read"))
  }

  @Test func `a request for a reload while the file is read causes another reading`() throws {
    let stage = try Stage(configuration: "")
    let fifo = stage.daemon.directory + "/imgd.conf.d"
    #expect(mkdir(fifo, 0o755) == 0)
    #expect(mkfifo(fifo + "/slow.conf", 0o600) == 0)
    // The first reading waits for a writer; the second is asked for meanwhile.
    let other = try stage.connect()
    try stage.begin(#"{"cmd":"reload","id":1}"#)
    try stage.begin(#"{"cmd":"reload","id":2}"#, on: other)
    for value in ["3", "4"] {
      let writer = open(fifo + "/slow.conf", O_WRONLY)
      #expect(writer >= 0)
      let text = "[Downloads]\nRetries=\(value)\n"
      #expect(Glibc.write(writer, text, text.utf8.count) == text.utf8.count)
      close(writer)
      // The next reading must not find this writer.
      let client = value == "3" ? stage.client : other
      let answer = try client.receive()
      #expect(answer["changed"] == .array([.string("Downloads.Retries")]), "\(value)")
    }
  }

  @Test func `a reload is reported, accepted or refused`() throws {
    let stage = try Stage(configuration: "[Downloads]\nMaxActive=1\n")
    let listener = try stage.connect()
    try stage.play(
      #"""
      > {"cmd":"subscribe","id":1,"events":["config"]}
      < {"id":1,"ok":true,"events":["config"]}
      """#, on: listener)
    try stage.daemon.rewrite(configuration: "[Downloads]\nMaxActive=2\n")
    stage.daemon.signal(SIGHUP)
    try stage.play(#"< {"event":"config","what":"reloaded","seq":1}"#, on: listener)
    try stage.daemon.rewrite(configuration: "[Downloads]\nMaxActive=many\n")
    stage.daemon.signal(SIGHUP)
    try stage.play(#"< {"event":"config","what":"refused","seq":2}"#, on: listener)
    try stage.play(
      #"""
      > {"cmd":"stats"}
      < {"ok":true,"downloads":{"max_active":2}}
      """#)
  }
}
