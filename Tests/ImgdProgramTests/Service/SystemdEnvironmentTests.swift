import CTestLinux
import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdProgram

/// libsystemd reads the environment of the process, so that most of these are exit tests.
struct SystemdEnvironmentTests {
  private static let all = [
    "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID",
    "LISTEN_FDNAMES", "LISTEN_PIDFDID", "MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE",
    "JOURNAL_STREAM", "FDSTORE", "IMGD_FDSTORE",
  ]

  /// Takes an environment with just these variables of systemd.
  private static func take(_ variables: [String: String]) -> SystemdEnvironment {
    for name in all { unsetenv(name) }
    for (name, value) in variables { setenv(name, value, 1) }
    return .takeVariables()
  }

  @Test func `without variables there is no manager`() async {
    await #expect(processExitsWith: .success) {
      let none = SystemdEnvironmentTests.take([:])
      #expect(!none.hasManager)
      #expect(none.watchdogPeriod == nil)
      #expect(none.inherited.isEmpty && none.inheritanceProblem == nil)
      #expect(none.pressureWatch == nil && none.pressureWrite == nil)
      #expect(none.journalStream == nil)
      #expect(none.storeLimit == 0)
      #expect(!SystemdEnvironmentTests.take(["NOTIFY_SOCKET": ""]).hasManager)
    }
  }

  // MARK: WATCHDOG

  @Test func `the watchdog's period is a number of microseconds`() async {
    await #expect(processExitsWith: .success) {
      let cases: [(String, Int64?)] = [
        ("1", 1), ("500000", 500_000), ("30000000", 30_000_000),
        ("9007199254740991", 9_007_199_254_740_991),
        ("9007199254740992", nil), ("9223372036854775807", nil), ("9223372036854775808", nil),
        ("18446744073709551615", nil), ("99999999999999999999999999", nil),
        ("0", nil), ("-1", nil), ("-9223372036854775808", nil), ("", nil),
        ("5 ", nil), ("5s", nil), ("1e6", nil), ("५", nil), ("5\n", nil),
      ]
      for (text, period) in cases {
        let wanted = period.map { Duration.microseconds($0) }
        let usec = ["WATCHDOG_USEC": text]
        #expect(SystemdEnvironmentTests.take(usec).watchdogPeriod == wanted, "\(text)")
        let both = ["WATCHDOG_USEC": text, "WATCHDOG_PID": "\(getpid())"]
        #expect(SystemdEnvironmentTests.take(both).watchdogPeriod == wanted, "\(text)")
      }
    }
  }

  @Test func `the watchdog of another process is not used`() async {
    await #expect(processExitsWith: .success) {
      let pids = [
        "\(getpid() + 1)", "0", "-\(getpid())", "", "\(getpid()) ", "garbage",
        "\(Int64(getpid()) + 1 << 32)", "99999999999999999999",
      ]
      for pid in pids {
        let environment = SystemdEnvironmentTests.take([
          "WATCHDOG_USEC": "500000", "WATCHDOG_PID": pid,
        ])
        #expect(environment.watchdogPeriod == nil, "\(pid)")
      }
      let alone = SystemdEnvironmentTests.take(["WATCHDOG_PID": "\(getpid())"])
      #expect(alone.watchdogPeriod == nil)
    }
  }

  // MARK: LISTEN

  @Test func `a wrong count of descriptors inherits nothing, and is reported`() async {
    await #expect(processExitsWith: .success) {
      let counts = [
        "0", "-1", "-2147483648", "2147483647", "2147483648", "18446744073709551616", "", " ",
        "garbage", "1 ", "1,2",
      ]
      for count in counts {
        let environment = SystemdEnvironmentTests.take([
          "LISTEN_FDS": count, "LISTEN_PID": "\(getpid())",
        ])
        #expect(environment.inherited.isEmpty, "\(count)")
        let problem = environment.inheritanceProblem ?? ""
        #expect(problem.contains("LISTEN_FDS=\(count): "), "\(count): \(problem)")
      }
    }
  }

  @Test func `descriptors of another process are not used`() async {
    await #expect(processExitsWith: .success) {
      let pids = ["\(getpid() + 1)", "-\(getpid())", "", "garbage", "4294967338", nil]
      for pid in pids {
        var variables = ["LISTEN_FDS": "2", "LISTEN_FDNAMES": "control:other"]
        variables["LISTEN_PID"] = pid
        #expect(SystemdEnvironmentTests.take(variables).inherited.isEmpty, "\(pid ?? "none")")
      }
      let other = ["LISTEN_FDS": "2", "LISTEN_PID": "\(getpid() + 1)"]
      #expect(SystemdEnvironmentTests.take(other).inheritanceProblem == nil, "that is no mistake")
    }
  }

  /// Does something where numbers 3 to 5 are open and 6 is closed.
  ///
  /// On a thread with descriptors of its own: any of these numbers may be the one over which the
  /// process reports to the testing library.
  private static func withThreeDescriptors<R: Sendable>(
    _ body: @escaping @Sendable () -> R
  ) throws -> R {
    let result = Shared<R?>(nil)
    let thread = try ImgdSystem.Thread(name: "descriptors") {
      guard test_own_descriptors() == 0 else { return }
      for number in 3...5 as ClosedRange<CInt> { dup2(0, number) }
      close(6)
      let found = body()
      result.with { $0 = found }
    }
    thread.join()
    return try #require(result.with { $0 })
  }

  @Test func `descriptors have the names that they were given`() async {
    await #expect(processExitsWith: .success) {
      let cases: [(names: String?, wanted: [String])] = [
        (nil, ["unknown", "unknown", "unknown"]),
        ("control:b:c", ["control", "b", "c"]),
        ("::c", ["unknown", "unknown", "c"]),
        ("a b:\n:ü", ["a b", "\n", "ü"]),
      ]
      for (names, wanted) in cases {
        let environment = try SystemdEnvironmentTests.withThreeDescriptors {
          var variables = ["LISTEN_FDS": "3", "LISTEN_PID": "\(getpid())"]
          variables["LISTEN_FDNAMES"] = names
          return SystemdEnvironmentTests.take(variables)
        }
        #expect(environment.inherited.map(\.name) == wanted, "\(names ?? "none")")
        #expect(environment.inherited.map(\.number) == [3, 4, 5])
        #expect(environment.inheritanceProblem == nil)
      }
    }
  }

  @Test func `descriptors without a name each, or closed ones, are not used and reported`()
    async
  {
    await #expect(processExitsWith: .success) {
      for (count, names) in [("3", "control"), ("3", "a:b:c:d"), ("4", "a:b:c:d")] {
        let environment = try SystemdEnvironmentTests.withThreeDescriptors {
          SystemdEnvironmentTests.take([
            "LISTEN_FDS": count, "LISTEN_PID": "\(getpid())", "LISTEN_FDNAMES": names,
          ])
        }
        #expect(environment.inherited.isEmpty)
        let values = "LISTEN_FDS=\(count) LISTEN_FDNAMES=\(names): "
        #expect(environment.inheritanceProblem?.contains(values) == true)
      }
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
    manager: String?, unit: String?, limit: Int
  ) {
    var variables: [String: String] = [:]
    variables["FDSTORE"] = manager
    variables["IMGD_FDSTORE"] = unit
    #expect(SystemdEnvironment.storeLimit(variables) == limit)
  }

  // MARK: JOURNAL_STREAM

  @Test(arguments: [
    "", ":", "8", "8:", ":9", "8:9:10", "a:b", "-8:9", "8:-9", " 8:9", "8:9 ", "8:9\n", "0x8:9",
    "8:18446744073709551616", "8::9",
  ])
  func `a journal stream is two numbers`(text: String) {
    #expect(JournalStream(text: text) == nil)
  }

  @Test func `a stream is a device and an inode`() throws {
    let stream = try #require(JournalStream(text: "8:18446744073709551615"))
    #expect(stream.device == 8)
    #expect(stream.inode == .max)
  }

  @Test func `a descriptor that is closed is no stream`() {
    #expect(JournalStream(of: -1) == nil)
  }

  // MARK: Taking

  @Test func `variables are removed from the environment, and descriptors close on exec`() async {
    await #expect(processExitsWith: .success) {
      for name in SystemdEnvironmentTests.all { setenv(name, "1", 1) }
      setenv("LISTEN_PID", "\(getpid())", 1)
      setenv("NOTIFY_SOCKET", "@nobody", 1)
      setenv("IMGD_OTHER", "stays", 1)
      let (environment, flags) = try SystemdEnvironmentTests.withThreeDescriptors {
        (SystemdEnvironment.takeVariables(), fcntl(3, F_GETFD))
      }
      #expect(environment.inherited == [InheritedDescriptor(number: 3, name: "1")])
      #expect(environment.hasManager)
      #expect(environment.storeLimit == 1)
      // libsystemd looks NOTIFY_SOCKET up for each message.
      let left = SystemdEnvironmentTests.all.filter { getenv($0) != nil }
      #expect(left == ["NOTIFY_SOCKET"])
      #expect(getenv("IMGD_OTHER") != nil)
      #expect(flags == FD_CLOEXEC)
    }
  }
}
