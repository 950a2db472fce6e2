import ImgdTestSupport
import Testing

/// The lines of strace from which calls are counted.
struct SystemCallCountTests {
  @Test(
    arguments: [
      ("12345 write(5, \"\\1\", 8) = 8", "12345 write"),
      ("  234 poll([{fd=4}], 1, 0 <unfinished ...>", "234 poll"),
      ("234   exit_group(0) = ?", "234 exit_group"),
      ("12345 <... poll resumed>) = 1 ([{fd=4}])", nil),
      ("234   <... pread64 resumed>\"a(b\", 4) = 4", nil),
      ("234   --- SIGCHLD {si_signo=SIGCHLD} ---", nil),
      ("234   +++ exited with 0 +++", nil),
      ("", nil),
    ] as [(Substring, String?)])
  func `a call counts once, where it begins`(line: Substring, expected: String?) {
    let call = SystemCallCount.call(inLine: line).map { "\($0.thread) \($0.call)" }
    #expect(call == expected)
  }
}
