import Glibc
import ImgdTestSupport
import Testing

/// Libraries that are loaded before the program, as libfaketime is.
struct PreloadTests {
  private static let places = ["x86_64", "aarch64"].map { (machine: String) -> String in
    "/usr/lib/\(machine)-linux-gnu/faketime/libfaketime.so.1"
  }
  private static let preloaded = places.first { access($0, R_OK) == 0 }

  /// It sets a variable before anything else happens, and the environment moves. A daemon that found no
  /// arguments would begin to serve, and is ended.
  @Test(
    .enabled(if: preloaded != nil, "libfaketime is not installed"),
    .disabled(if: Sanitizer.isOn, "a sanitizer has to be loaded before any library"))
  func `arguments are found beside a library that sets a variable`() throws {
    let preloaded = try #require(Self.preloaded)
    let directory = try TemporaryDirectory.make()
    defer { TemporaryDirectory.remove(directory) }
    for program in ["imgd", "imgctl"] {
      let (code, output) = try ChildProcess.run(
        "/usr/bin/timeout",
        [
          "10", "env", "LD_PRELOAD=\(preloaded)", "FAKETIME=+1d", "IMGD_SOCKET=\(directory)/socket",
          "CACHE_DIRECTORY=\(directory)/cache", BuiltProduct.path(of: program), "--version",
        ])
      #expect(code == 0)
      #expect(output.hasPrefix("\(program) "))
    }
  }
}
