import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A daemon whose standard error leads to the journal. Its path is fixed, so that only root can take
/// its place.
@Suite(.enabled(if: geteuid() == 0, "only root may cover /run")) struct JournalTests {
  private let daemon: ManagedDaemon
  private let journal: DatagramPeer

  init() throws {
    daemon = try ManagedDaemon()
    mkdir(daemon.directory + "/journal", 0o755)
    journal = try DatagramPeer(daemon.directory + "/journal/socket")
  }

  /// Starts the daemon where the test's socket is the journal's. On a busy machine such a watchdog has complaints of its
  /// own now and then.
  private func start(_ settings: String = "") throws {
    try daemon.configure(settings)
    try write("", to: daemon.directory + "/log")
    var log = stat()
    #expect(stat(daemon.directory + "/log", &log) == 0)
    let place = "/run/systemd/journal"
    try daemon.start(
      variables: ["JOURNAL_STREAM=\(log.st_dev):\(log.st_ino)", "WATCHDOG_USEC=40000"],
      through: """
        unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p \(place) && \
          mount --bind \(daemon.directory)/journal \(place) && exec "$0" "$@"'
        """)
    #expect(daemon.manager.receive(with: "READY=1") != nil, "\(daemon.log)")
    try daemon.configure("[Downloads]\nRetries=often\n")
  }

  /// Has the daemon log something.
  private func reload(_ client: TestClient) throws {
    #expect(try client.ask(#"{"cmd":"reload"}"#)["error"]?["code"]?.string == "bad_request")
  }

  @Test func `entries have fields of their own`() throws {
    try start()
    try reload(try daemon.connect())
    let lines = try entry(with: "the configuration is not reloaded: ")
    for line in ["PRIORITY=3", "SYSLOG_IDENTIFIER=imgd", "IMGD_EVENT=configuration", "IMGD_CODE=reload_refused"] {
      #expect(lines.contains(line), "\(lines)")
    }
    #expect(daemon.stop() == 0)
    #expect(daemon.log == "")
  }

  /// The next entry whose message has a text.
  private func entry(with text: String) throws -> [String] {
    while let entry = journal.receive() {
      let lines = entry.lines.map { String($0) }
      if lines.contains(where: { $0.hasPrefix("MESSAGE=") && $0.contains(text) }) { return lines }
    }
    throw TestFailure("no entry about \(text)")
  }

  @Test func `purges of a fleet that may have been missed are told under its subject`() throws {
    let redis = try RedisServer()
    try start("[Fleet]\nServer=unix:\(redis.socket)\n")
    #expect(try entry(with: "the fleet's server is used").contains("IMGD_EVENT=fleet"))
    try redis.restartEmpty()
    let lines = try entry(with: "purges of the fleet may have been missed")
    #expect(lines.contains("IMGD_EVENT=fleet") && lines.contains("PRIORITY=5"))
    #expect(daemon.stop() == 0)
  }

  @Test func `a journal that reads nothing holds up neither clients, signs of life nor the stop`()
    throws
  {
    try start()
    try journal.fillQueue()
    let client = try daemon.connect()
    for _ in 0..<50 { try reload(client) }
    _ = daemon.manager.drain()
    for _ in 0..<5 { _ = try #require(daemon.manager.receive(with: "WATCHDOG=1")) }
    #expect(daemon.stop() == 0)
    #expect(journal.drain().allSatisfy { $0.text == "busy" || $0.lines.contains("IMGD_EVENT=watchdog") })
  }
}
