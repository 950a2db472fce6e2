import Glibc
import ImgdTestSupport
import Testing

/// The line of a program that ends by a mistake of its own, for which a signal stands here.
@Suite(.disabled(if: Sanitizer.isOn, "a sanitizer looks into crashes itself"))
struct LastWordsTests {
  static let signals = [
    (SIGILL, "ILL"), (SIGTRAP, "TRAP"), (SIGABRT, "ABRT"), (SIGBUS, "BUS"), (SIGFPE, "FPE"), (SIGSEGV, "SEGV"),
    (SIGSYS, "SYS"),
  ]

  private func lines(_ log: String) -> [String] {
    log.split(separator: "\n").map(String.init).filter { $0.contains("ended by") }
  }

  @Test(arguments: signals)
  func `one line names the signal and the place, and the manager sees the signal`(
    number: CInt, name: String
  ) throws {
    let daemon = try DaemonProcess(wrapper: ["/usr/bin/env", "SWIFT_BACKTRACE=enable=no"])
    // In the C library: elsewhere, as in the runtime of Swift, frames need not be found.
    #expect(try becomes { ChildProcess.state(of: daemon.pid) == "S" })
    daemon.signal(number)
    #expect(daemon.waitForEnd() == -number)
    let said = lines(daemon.log)
    let words = "imgd: error: ended by SIG\(name), which another process has sent, in thread imgd of build "
    #expect(said.count == 1 && said[0].hasPrefix(words), "\(daemon.log)")
    // Twenty bytes of a build ID.
    let build = try #require(said.first).dropFirst(words.utf8.count).prefix { $0 != "," }
    #expect(build.utf8.count == 40 && build.allSatisfy(\.isHexDigit), "\(said)")
    try expectPlace(in: said[0])
  }

  /// The loop waits in the C library, and has called that.
  private func expectPlace(in line: String) throws {
    #expect(line.contains(", at "), "\(line)")
    let offsets = line.split(separator: " ").filter { $0.hasPrefix("imgd+0x") }.map { String($0.dropFirst(5)) }
    let places = try ChildProcess.run("/usr/bin/addr2line", ["-fe", BuiltProduct.path(of: "imgd")] + offsets)
    #expect(places.code == 0 && places.output.contains("EventLoop.swift:"), "\(line)\n\(places.output)")
  }

  /// By a signal that Swift's own backtraces leave alone, where the toolchain is.
  @Test func `the gateway says it too`() throws {
    let stage = try GatewayStage()
    kill(stage.gateway.pid, SIGSYS)
    #expect(try becomes { !lines(stage.gateway.log).isEmpty })
    #expect(lines(stage.gateway.log).first?.hasPrefix("imgd-http: error: ended by SIGSYS") == true)
  }
}
