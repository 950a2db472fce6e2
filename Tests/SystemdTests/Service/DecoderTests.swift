import CTestLinux
import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Decoders under the units: what these keep from the service must not keep decoders from their sandbox.
@Suite(.machine) struct DecoderTests {
  private static let program = "/usr/local/lib/imgd/imgd-decoder"

  private func makeStage() throws -> ServiceStage {
    let stage = try ServiceStage()
    stage.origin.plan("/a", .picture(TestPicture.png(width: 64, height: 48)))
    stage.origin.plan("/b", .picture(TestPicture.jpeg(width: 64, height: 48)))
    return stage
  }

  /// Pixels of one picture, and smaller files of both.
  private func decode(_ stage: ServiceStage) throws {
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"pixels"}
      < {"ok":true,"fds":[{"kind":"pixels","format":"rgba8","width":64,"height":48,"stride":256,"bytes":12288}]}
      > {"cmd":"fetch","url":"ORIGIN/a","resize":{"width":16}}
      < {"ok":true,"format":"png","width":16,"height":12}
      > {"cmd":"fetch","url":"ORIGIN/b","resize":{"width":8},"format":"webp"}
      < {"ok":true,"format":"webp","width":8,"height":6}
      """#)
  }

  /// Their numbers inside.
  private func decoders(of machine: Machine) throws -> [Substring] {
    try machine.run("pgrep -x imgd-decoder").output.split(separator: "\n")
  }

  @Test(.landlock) func `a decoder has all of its sandbox, and stands behind the daemon`() throws {
    let stage = try makeStage()
    try stage.start()
    try decode(stage)
    let decode = try stage.connect().ask(#"{"cmd":"stats"}"#)["decode"]
    #expect(decode?["sandbox"] == .string("full"), "\(decode?.text ?? "")")
    #expect(decode?["failed"]?.integer == 0 && decode?["killed"]?.integer == 0)
    #expect(try stage.machine.property("MemoryDenyWriteExecute") == "yes")
    let decoder = try #require(try decoders(of: stage.machine).first)
    #expect(try stage.machine.perform("ps -o ni= -p \(decoder)").hasSuffix("10"))
    #expect(try stage.machine.journal("--unit=imgd.service --priority=warning").isEmpty)
  }

  @Test(.landlock) func `a stop leaves no decoder, and a restart is as good as a start`() throws {
    let stage = try makeStage()
    try stage.start()
    try decode(stage)
    #expect(try !decoders(of: stage.machine).isEmpty)
    try stage.machine.perform("systemctl stop imgd.service")
    #expect(try decoders(of: stage.machine).isEmpty)
    #expect(try stage.machine.property("Result") == "success")
    try stage.start()
    try stage.machine.perform("systemctl restart imgd.service")
    try decode(stage)
    #expect(try stage.stats("decode", "workers") >= 1)
    #expect(try stage.machine.property("NRestarts") == "0")
  }

  @Test(.landlock) func `a daemon that is killed takes its decoders with it`() throws {
    let stage = try makeStage()
    try stage.start()
    try decode(stage)
    let before = try decoders(of: stage.machine)
    #expect(!before.isEmpty)
    kill(try stage.machine.process(), SIGKILL)
    try stage.machine.waitUntil("it was started again, without them") {
      let after = try decoders(of: stage.machine)
      return try stage.machine.property("NRestarts") == "1"
        && !after.contains { before.contains($0) }
    }
    try decode(stage)
  }

  /// As on a machine where nobody has installed what the package recommends.
  @Test(arguments: [
    (missing: "$(ldconfig -p | sed -n 's/.*=> \\(.*libvips.so.*\\)/\\1/p')", said: "libvips"),
    (missing: program, said: "not installed"),
  ])
  func `without a decoder pictures are fetched as before`(missing: String, said: String) throws {
    let stage = try makeStage()
    try stage.machine.perform("rm \(missing)")
    try stage.start()
    let answer = try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/a","deliver":"pixels"}
      < {"ok":false,"error":{"code":"unavailable"}}
      > {"cmd":"fetch","url":"ORIGIN/a"}
      < {"ok":true,"source":"memory","width":64}
      > {"cmd":"fetch","url":"ORIGIN/b"}
      < {"ok":true,"source":"network","width":64}
      """#)[0]
    #expect(answer["error"]?["message"]?.string?.contains(said) == true, "\(answer.text)")
    #expect(try stage.connect().ask(#"{"cmd":"stats"}"#)["decode"]?["sandbox"] == .string("off"))
    #expect(try stage.machine.state() == "active")
  }
}

extension Trait where Self == ConditionTrait {
  /// Skipped, with the reason, where the kernel cannot give a decoder its whole sandbox.
  static var landlock: Self {
    .enabled(if: test_landlock_version() > 0, "the kernel has no Landlock")
  }
}
