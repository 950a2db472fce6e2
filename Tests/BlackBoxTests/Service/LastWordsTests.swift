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

  /// The loop waits in the C library, and a function of imgd's has called that.
  private func expectPlace(in line: String) throws {
    #expect(line.contains(", at libc.so.6+0x"), "\(line)")
    let offset = try #require(line.split(separator: " ").first { $0.hasPrefix("imgd+0x") }, "\(line)").dropFirst(5)
    let place = try ChildProcess.run(
      "/usr/bin/addr2line", ["-fe", BuiltProduct.path(of: "imgd"), String(offset)])
    #expect(place.code == 0 && place.output.contains("EventLoop"), "\(line)\n\(place.output)")
    #expect(place.output.contains(".swift:"), "\(place.output)")
  }

  @Test func `the gateway says it too`() throws {
    let stage = try GatewayStage()
    kill(stage.gateway.pid, SIGSEGV)
    #expect(try becomes { !lines(stage.gateway.log).isEmpty })
    #expect(lines(stage.gateway.log).first?.hasPrefix("imgd-http: error: ended by SIGSEGV") == true)
  }
}
