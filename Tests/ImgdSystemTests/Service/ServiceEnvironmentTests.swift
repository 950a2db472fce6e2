import Glibc
import Testing

@testable import ImgdSystem

@Suite struct ServiceEnvironmentTests {
  private func read(_ variables: [String: String], pid: Int32 = 42) -> ServiceEnvironment {
    ServiceEnvironment(variables, pid: pid)
  }

  @Test func `without variables there is no manager`() {
    let none = read([:])
    #expect(none.notifySocket == nil)
    #expect(none.watchdogPeriod == nil)
    #expect(none.inherited.isEmpty)
    #expect(none.pressureWatch == nil && none.pressureWrite == nil)
    #expect(none.journalStream == nil)
    #expect(none.storeLimit == 0)
  }

  // MARK: NOTIFY_SOCKET

  @Test(arguments: [
    ("/run/systemd/notify", true), ("@abstract", true), ("/a", true), ("@a", true),
    ("", false), ("/", false), ("@", false), ("relative", false), ("./a", false),
    ("vsock:2:1234", false), ("\0abstract", false), ("unix:/run/a", false),
    ("/" + String(repeating: "a", count: 106), true),
    ("/" + String(repeating: "a", count: 107), false),
    ("/" + String(repeating: "é", count: 53), true),
    ("/" + String(repeating: "é", count: 54), false),
  ])
  func `the manager is at a path or a name`(text: String, isTaken: Bool) {
    #expect(read(["NOTIFY_SOCKET": text]).notifySocket == (isTaken ? text : nil))
  }

  // MARK: WATCHDOG

  @Test(
    arguments: [
      ("1", 1), ("500000", 500_000), ("30000000", 30_000_000), ("+5", 5), ("007", 7),
      ("9007199254740991", 9_007_199_254_740_991),
      ("9007199254740992", nil), ("9223372036854775807", nil), ("9223372036854775808", nil),
      ("18446744073709551615", nil), ("99999999999999999999999999", nil),
      ("0", nil), ("-1", nil), ("-9223372036854775808", nil), ("", nil), (" 5", nil),
      ("5 ", nil), ("5s", nil), ("0x10", nil), ("1e6", nil), ("५", nil), ("5\n", nil),
    ] as [(String, Int64?)])
  func `the watchdog's period is a number of microseconds`(text: String, period: Int64?) {
    let wanted = period.map { Duration.microseconds($0) }
    #expect(read(["WATCHDOG_USEC": text]).watchdogPeriod == wanted)
    #expect(read(["WATCHDOG_USEC": text, "WATCHDOG_PID": "42"]).watchdogPeriod == wanted)
  }

  @Test(arguments: [
    "41", "43", "0", "-42", "", " 42", "42 ", "garbage", "4294967338", "99999999999999999999",
  ])
  func `somebody else's watchdog is not ours`(pid: String) {
    let environment = read(["WATCHDOG_USEC": "500000", "WATCHDOG_PID": pid])
    #expect(environment.watchdogPeriod == nil)
  }

  @Test func `a process alone is no watchdog`() {
    #expect(read(["WATCHDOG_PID": "42"]).watchdogPeriod == nil)
  }

  // MARK: LISTEN

  @Test(arguments: [
    "0", "-1", "-2147483648", "2147483647", "2147483648", "1048577", "18446744073709551616",
    "", " ", "garbage", "1 ", "0x1", "1,2",
  ])
  func `a count that cannot be inherits nothing`(count: String) {
    #expect(read(["LISTEN_FDS": count, "LISTEN_PID": "42"]).inherited.isEmpty)
  }

  @Test(arguments: ["41", "0", "-42", "", "garbage", "4294967338", nil])
  func `somebody else's descriptors are not ours`(pid: String?) {
    var variables = ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:other"]
    variables["LISTEN_PID"] = pid
    #expect(read(variables).inherited.isEmpty)
  }

  /// Numbers 3 to 6 are open there, and 7 is not.
  private static func withFourDescriptors(_ body: () -> Void) {
    for number in 3...6 as ClosedRange<CInt> { dup2(0, number) }
    close(7)
    body()
  }

  @Test func `descriptors have the names that they were given`() async {
    await #expect(processExitsWith: .success) {
      ServiceEnvironmentTests.withFourDescriptors {
        let cases: [(names: String?, wanted: [String])] = [
          (nil, ["unknown", "unknown", "unknown"]),
          ("", ["unknown", "unknown", "unknown"]),
          ("control", ["control", "unknown", "unknown"]),
          ("control:b:c", ["control", "b", "c"]),
          ("::c", ["unknown", "unknown", "c"]),
          ("a:b:c:d:e", ["a", "b", "c"]),
          (":::::::", ["unknown", "unknown", "unknown"]),
          ("a b:\n:ü", ["a b", "\n", "ü"]),
        ]
        for (names, wanted) in cases {
          var variables = ["LISTEN_FDS": "3", "LISTEN_PID": "42"]
          variables["LISTEN_FDNAMES"] = names
          let inherited = ServiceEnvironment(variables, pid: 42).inherited
          precondition(inherited.map(\.name) == wanted, "\(names ?? "none"): \(inherited)")
          precondition(inherited.map(\.number) == [3, 4, 5])
        }
      }
    }
  }

  @Test func `numbers that are closed are left out, and the names stay where they belong`() async {
    await #expect(processExitsWith: .success) {
      // So high that nothing else in the process gets one of them.
      for number in [900, 902, 903] as [CInt] { dup2(0, number) }
      let names = (3..<910).map { "n\($0)" }.joined(separator: ":")
      let inherited = ServiceEnvironment(
        ["LISTEN_FDS": "907", "LISTEN_PID": "42", "LISTEN_FDNAMES": names], pid: 42
      ).inherited
      precondition(inherited.filter { $0.number >= 900 }.map(\.name) == ["n900", "n902", "n903"])
    }
  }

  // MARK: Descriptor store

  @Test(
    arguments: [
      ("5", nil, 5), (nil, "7", 7), ("5", "7", 5), ("0", "7", 0), (nil, nil, 0),
      ("-1", nil, 0), ("garbage", nil, 0), ("", nil, 0), ("garbage", "7", 0),
      ("9223372036854775807", nil, 1 << 20), ("9223372036854775808", nil, 0),
      ("-9223372036854775808", nil, 0), (nil, "1048577", 1 << 20),
    ] as [(String?, String?, Int)])
  func `the store's limit is the manager's, or else the unit's`(
    said: String?, unit: String?, limit: Int
  ) {
    var variables: [String: String] = [:]
    variables["FDSTORE"] = said
    variables["IMGD_FDSTORE"] = unit
    #expect(read(variables).storeLimit == limit)
  }

  // MARK: JOURNAL_STREAM

  @Test(arguments: [
    "", ":", "8", "8:", ":9", "8:9:10", "a:b", "-8:9", "8:-9", " 8:9", "8:9 ", "8:9\n", "0x8:9",
    "8:18446744073709551616", "8::9",
  ])
  func `what is not two numbers is no stream`(text: String) {
    #expect(JournalStream(text: text) == nil)
    #expect(read(["JOURNAL_STREAM": text]).journalStream == nil)
  }

  @Test func `a stream is a device and an inode`() throws {
    let stream = try #require(read(["JOURNAL_STREAM": "8:18446744073709551615"]).journalStream)
    #expect(stream.device == 8)
    #expect(stream.inode == .max)
  }

  @Test func `a descriptor that is closed is no stream`() {
    #expect(JournalStream(of: -1) == nil)
  }

  // MARK: Taking

  @Test func `what was taken is gone from the environment, and children inherit nothing`() async {
    await #expect(processExitsWith: .success) {
      let names = [
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
        "LISTEN_FDNAMES", "LISTEN_PIDFDID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
        "JOURNAL_STREAM", "FDSTORE", "IMGD_FDSTORE",
      ]
      for name in names { setenv(name, "1", 1) }
      setenv("LISTEN_PID", "\(getpid())", 1)
      setenv("NOTIFY_SOCKET", "@nobody", 1)
      setenv("IMGD_OTHER", "stays", 1)
      dup2(0, 3)
      let environment = ServiceEnvironment.take()
      precondition(environment.inherited == [InheritedDescriptor(number: 3, name: "1")])
      precondition(environment.notifySocket == "@nobody")
      precondition(environment.storeLimit == 1)
      for name in names { precondition(getenv(name) == nil, name) }
      precondition(getenv("IMGD_OTHER") != nil)
      precondition(fcntl(3, F_GETFD) & FD_CLOEXEC != 0)
    }
  }
}
