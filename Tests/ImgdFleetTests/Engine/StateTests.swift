import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

struct StateTests {
  @Test(arguments: ["noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random"])
  func `a server that might evict purges is refused, and told what to set`(policy: String) throws {
    let server = try RedisServer(["--maxmemory-policy", policy])
    let bench = try FleetBench(.unix(path: server.socket))
    let state = try bench.waitForState(.refused)
    #expect(state.reason?.contains("maxmemory-policy is \(policy)") == true)
    #expect(state.reason?.contains("set maxmemory-policy volatile-lfu") == true)
    #expect(try server.command("DBSIZE") == .number(0), "nothing is written")
    guard case .failed = try bench.look(TestedPicture().digest) else {
      throw TestFailure("it is used")
    }
    try server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lfu")
    try bench.waitForState(.ok)
  }

  @Test func `a password is read from its file each time`() throws {
    let server = try RedisServer(RedisServer.rules + ["--requirepass", "open"])
    let path = server.directory + "/password"
    let bench = try FleetBench(.unix(path: server.socket)) { $0.passwordFile = path }
    let missing = try bench.waitForState(.refused)
    #expect(missing.reason?.contains("\(path) cannot be read: No such file") == true)
    try write("wrong\n", to: path)
    #expect(try bench.waitForState(.refused).reason?.contains("user or password are wrong") == true)
    try write("open\n", to: path)
    try bench.waitForState(.ok)
  }

  @Test func `a server that asks for a password nobody has given is refused`() throws {
    let server = try RedisServer(RedisServer.rules + ["--requirepass", "open"])
    let bench = try FleetBench(.unix(path: server.socket))
    #expect(try bench.waitForState(.refused).reason?.contains("Fleet.PasswordFile=") == true)
  }

  @Test func `a user without rights is refused with the right that is missing`() throws {
    let server = try RedisServer()
    try server.command("ACL", "SETUSER", "bare", "on", ">secret", "+info", "~imgd:*", "&imgd:*")
    let path = server.directory + "/password"
    try write("secret", to: path)
    let bench = try FleetBench(.unix(path: server.socket)) {
      ($0.user, $0.passwordFile) = ("bare", path)
    }
    let reason = try bench.waitForState(.refused).reason ?? ""
    #expect(reason.contains("too few rights") && reason.contains("time"))
  }

  @Test func `a server that is not there is down, and used when it comes`() throws {
    let server = try RedisServer()
    server.kill()
    let bench = try FleetBench(.unix(path: server.socket))
    #expect(try bench.waitForState(.down).reason?.contains(server.socket) == true)
    guard case .failed = try bench.look(TestedPicture().digest) else { throw TestFailure("used") }
    try server.start()
    try bench.waitForState(.ok)
  }

  @Test func `a server that has stopped fails look-ups in time, and is taken for dead`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server) { $0.timeout = .milliseconds(20) }
    server.freeze()
    let start = Instant.current
    let serials = (1...3).map { bench.begin(TestedPicture("http://o/\($0)").digest) }
    for serial in serials {
      guard case .failed = try bench.answer(serial) else { throw TestFailure("it is answered") }
    }
    #expect(Instant.current - start < .seconds(2))
    #expect(try bench.waitForState(.down).reason?.contains("Fleet.Timeout") == true)
    server.thaw()
    try bench.waitForState(.ok)
    _ = try bench.claim(TestedPicture("http://o/4").digest)
  }

  @Test func `a server that stops is noticed without a look-up`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    server.freeze()
    #expect(try bench.waitForState(.down).reason?.contains("log of purges") == true)
    server.thaw()
    try bench.waitForState(.ok)
  }

  @Test func `a replica can be read and takes nothing`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let generation = try server.generation()
    #expect(try bench.store(TestedPicture(), generation: generation) == .kept)
    // A replica of nobody.
    try server.command("REPLICAOF", "127.0.0.1", "1")
    let other = try FleetBench(.unix(path: server.socket))
    #expect(try other.waitForState(.readOnly).reason?.contains("replica") == true)
    guard case .found = try other.look(TestedPicture().digest) else { throw TestFailure("none") }
    guard case .nothing = try other.look(TestedPicture("http://o/b").digest) else {
      throw TestFailure("there is something")
    }
    let stored = try other.store(TestedPicture("http://o/b"), generation: generation)
    guard case .refused = stored else { throw TestFailure("\(stored)") }
    // The first one finds it out by a command.
    _ = try bench.look(TestedPicture("http://o/c").digest)
    try bench.waitForState(.readOnly)
    try server.command("REPLICAOF", "NO", "ONE")
    try bench.waitForState(.ok)
    try other.waitForState(.ok)
  }

  @Test func `a server that cannot save is not written to`() throws {
    let server = try RedisServer(RedisServer.rules + ["--enable-protected-configs", "local"])
    let bench = try FleetBench(on: server)
    #expect(try server.command("CONFIG", "SET", "dir", "/proc") == .word("OK"))
    #expect(try server.command("CONFIG", "SET", "save", "1 1") == .word("OK"))
    try server.command("BGSAVE")
    try server.wait("a failed save") {
      if case .failure = try server.command("SET", "x", "1") { true } else { false }
    }
    _ = try bench.look(TestedPicture().digest)
    #expect(try bench.waitForState(.readOnly).reason?.contains("cannot save") == true)
    try server.command("CONFIG", "SET", "save", "")
    try bench.waitForState(.ok)
  }

  @Test func `a connection that is never answered is given up`() throws {
    let silent = try FullListener()
    let bench = try FleetBench(.tcp(host: "127.0.0.1", port: silent.port))
    #expect(try bench.waitForState(.down).reason?.contains("two seconds") == true)
  }

  @Test func `a server that takes connections and says nothing is given up`() throws {
    let directory = TemporaryDirectory()
    let silent = try UnixListener(path: directory.path + "/socket")
    let bench = try FleetBench(.unix(path: silent.path))
    #expect(try bench.waitForState(.down).reason?.contains("two seconds") == true)
  }

  @Test func `a server that still reads its data is down until it has`() throws {
    let server = try RedisServer(RedisServer.rules + ["--dbfilename", "data.rdb"])
    for number in 1...40 {
      try server.command("SET", "k\(number)", String(repeating: "x\(number)", count: 1_000))
    }
    try server.command("CONFIG", "SET", "rdbcompression", "no")
    try server.command("SAVE")
    server.kill()
    let slowly = ["--key-load-delay", "50000", "--loading-process-events-interval-bytes", "1024"]
    try server.start(RedisServer.rules + ["--dbfilename", "data.rdb"] + slowly, waits: false)
    let bench = try FleetBench(.unix(path: server.socket))
    #expect(try bench.waitForState(.down).reason?.contains("still reading") == true)
    try bench.waitForState(.ok)
  }

  @Test func `another limit applies at once, without another connection`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let generation = try server.generation()
    let picture = TestedPicture(count: 4 << 20)
    #expect(try bench.store(picture, generation: generation) == .tooLarge)
    let settings = FleetSettings(
      server: .unix(path: server.socket), maxObject: 5 << 20, timeout: .seconds(20))
    bench.engine.apply(settings)
    #expect(try bench.store(picture, generation: generation) == .kept)
    guard case .found = try bench.look(picture.digest) else { throw TestFailure("none") }
    #expect(!bench.all.contains { if case .state = $0 { true } else { false } })
  }

  @Test func `a server is reached by its name`() throws {
    let server = try RedisServer(onPort: true)
    let bench = try FleetBench(.tcp(host: "localhost", port: server.port ?? 0))
    try bench.waitForState(.ok)
    let other = try FleetBench(.tcp(host: "nowhere.invalid", port: 1))
    #expect(try other.waitForState(.down).reason?.contains("nowhere.invalid:1") == true)
  }

  @Test func `other settings lead to another server`() throws {
    let (one, other) = (try RedisServer(), try RedisServer())
    let bench = try FleetBench(on: one)
    #expect(try bench.join().loss == nil)
    bench.engine.apply(FleetSettings(server: .unix(path: other.socket), timeout: .seconds(20)))
    #expect(try bench.join().loss != nil)
    try bench.waitForState(.ok)
    _ = try bench.claim(TestedPicture().digest)
    #expect(try other.command("EXISTS", key(TestedPicture().digest)) == .number(1))
  }

  @Test func `nothing can be used before the log is joined`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(.unix(path: server.socket), join: .none)
    try server.wait("a generation") { try server.generation() != 0 }
    guard case .failed = try bench.look(TestedPicture().digest) else { throw TestFailure("used") }
    #expect(bench.all.isEmpty)
    bench.engine.join(from: nil)
    try bench.waitForState(.ok)
  }
}
