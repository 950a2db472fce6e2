import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct StateTests {
  /// No pause before the next attempt is longer, if there were only a few.
  private let pause = Duration.seconds(5)

  @Test
  func `a server as Debian starts it is refused, not written to, and used when it is set right`()
    throws
  {
    let server = try RedisServer([])
    let stage = try DeskStage(.unix(path: server.socket))
    let reason = try stage.waitForState(.refused).reason
    #expect(reason?.contains("maxmemory-policy is noeviction") == true)
    #expect(try server.command("DBSIZE") == .number(0), "nothing is written")
    try server.command("CONFIG", "SET", "maxmemory-policy", "volatile-lfu")
    // A real server answers in its own time, while this clock stands still.
    stage.jump(pause)
    try stage.waitForState(.ok)
  }

  @Test func `a password is asked for, and read from its file each time`() throws {
    let server = try RedisServer(RedisServer.rules + ["--requirepass", "open"])
    let unknowing = try DeskStage(.unix(path: server.socket))
    let unasked = try unknowing.waitForState(.refused).reason
    #expect(unasked?.contains("Fleet.PasswordFile=") == true)
    let path = server.directory + "/password"
    let stage = try DeskStage(.unix(path: server.socket)) { $0.passwordFile = path }
    let missing = try stage.waitForState(.refused)
    #expect(missing.reason?.contains("\(path) cannot be read: No such file") == true)
    try write("wrong\n", to: path)
    stage.jump(pause)
    #expect(try stage.waitForState(.refused).reason?.contains("user or password are wrong") == true)
    try write("open\n", to: path)
    stage.jump(pause)
    try stage.waitForState(.ok)
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
    let stage = try DeskStage(.unix(path: server.socket))
    #expect(try stage.waitForState(.down).reason?.contains(server.socket) == true)
    try server.start()
    stage.jump(pause)
    try stage.waitForState(.ok)
  }

  @Test func `a replica can be read and takes nothing`() throws {
    let server = try RedisServer()
    let one = try DeskStage(on: server)
    let generation = try server.generation()
    #expect(try one.store(TestedPicture(), generation: generation) == .kept)
    // A replica of nobody.
    try server.command("REPLICAOF", "127.0.0.1", "1")
    let other = try DeskStage(.unix(path: server.socket))
    #expect(try other.waitForState(.readOnly).reason?.contains("replica") == true)
    guard case .found = try other.look(TestedPicture().digest) else { throw TestFailure("none") }
    guard case .nothing = try other.look(TestedPicture("http://o/b").digest) else {
      throw TestFailure("there is something")
    }
    let stored = try other.store(TestedPicture("http://o/b"), generation: generation)
    guard case .refused = stored else { throw TestFailure("\(stored)") }
    // The first one finds it out by a command, or by the end of its reading of the log: then it tries again.
    _ = try one.look(TestedPicture("http://o/c").digest)
    let found = try one.next("other state") { event in
      if case .state(let state) = event { state.phase } else { nil }
    }
    if found != .readOnly {
      one.jump(pause)
      try one.waitForState(.readOnly)
    }
    try server.command("REPLICAOF", "NO", "ONE")
    for stage in [one, other] {
      stage.jump(.seconds(2))
      try stage.waitForState(.ok)
    }
  }

  @Test func `a server that cannot save is not written to`() throws {
    let server = try RedisServer(RedisServer.rules + ["--enable-protected-configs", "local"])
    let stage = try DeskStage(on: server)
    #expect(try server.command("CONFIG", "SET", "dir", "/proc") == .word("OK"))
    #expect(try server.command("CONFIG", "SET", "save", "1 1") == .word("OK"))
    try server.command("BGSAVE")
    try server.wait("a failed save") {
      if case .failure = try server.command("SET", "x", "1") { true } else { false }
    }
    _ = try stage.look(TestedPicture().digest)
    #expect(try stage.waitForState(.readOnly).reason?.contains("cannot save") == true)
    try server.command("CONFIG", "SET", "save", "")
    stage.jump(.seconds(2))
    try stage.waitForState(.ok)
  }

  @Test func `a connection that is never answered is given up`() throws {
    let silent = try FullListener()
    let stage = try DeskStage(.tcp(host: "127.0.0.1", port: silent.port))
    stage.jump(.seconds(2))
    #expect(try stage.waitForState(.down).reason?.contains("two seconds") == true)
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
    let stage = try DeskStage(.unix(path: server.socket))
    #expect(try stage.waitForState(.down).reason?.contains("still reading") == true)
    try server.wait("end of the reading") { try server.command("GET", "k40").bytes != nil }
    stage.jump(pause)
    try stage.waitForState(.ok)
  }

  @Test func `another limit applies at once, without another connection`() throws {
    let server = try RedisServer()
    let bench = try FleetBench(on: server)
    let generation = try server.generation()
    let picture = TestedPicture(count: 4 << 20)
    #expect(try bench.store(picture, generation: generation) == .tooLarge)
    bench.engine.apply(maxObject: 5 << 20, timeout: .seconds(20))
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

}
