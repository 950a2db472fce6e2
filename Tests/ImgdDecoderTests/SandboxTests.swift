import Glibc
import ImgdDecode
import ImgdPicture
import ImgdTestSupport
import Testing

@testable import ImgdDecoder

struct SandboxTests {
  /// On a machine whose processors are busy a lower one would have the rest of its start take seconds.
  @Test(.disabled(if: Sanitizer.isOn, "what a sanitizer needs is forbidden there"))
  func `a decoder that starts has the priority of its daemon`() async {
    await #expect(processExitsWith: .success) {
      var ends: [CInt] = [-1, -1]
      guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0 else { exit(2) }
      let before = getpriority(CInt(PRIO_PROCESS.rawValue), 0)
      // What the test would hear of failures over is closed by this.
      guard Sandbox.begin(channel: ends[1]) != nil else { exit(3) }
      exit(getpriority(CInt(PRIO_PROCESS.rawValue), 0) == before ? 0 : 1)
    }
  }

  /// What becomes of each attempt to leave: the number of an error, or the signal that ends the process.
  private static let outcomes: [(trial: SandboxTrial, outcome: String)] = [
    (.readFile, "\(EPERM)"), (.writeFile, "\(EPERM)"), (.lookAtFile, "\(EPERM)"),
    (.listDirectory, "\(EPERM)"), (.runCode, "\(EPERM)"), (.startProcess, "\(EPERM)"),
    (.startProgram, "ended"), (.connect, "ended"), (.signalParent, "ended"),
    (.traceParent, "ended"), (.takeMemory, "\(ENOMEM)"), (.takeDescriptors, "\(EMFILE)"),
    (.readEnvironment, "0"),
  ]

  @Test(.sandbox) func `all layers hold`() throws {
    #expect(try DecoderProcess().abilities().layers == .all)
  }

  @Test(.sandbox, arguments: outcomes) func `there is no way out`(
    trial: SandboxTrial, outcome: String
  ) throws {
    let decoder = try DecoderProcess(["--trial", trial.rawValue])
    switch decoder.next() {
    case .answer(let answer, _): #expect(answer.reason == outcome)
    case .end:
      #expect(outcome == "ended")
      #expect(decoder.end() == -SIGSYS)
    default: Issue.record("\(trial) broke the channel")
    }
  }

  @Test func `every trial is made`() {
    #expect(Set(Self.outcomes.map(\.trial)) == Set(SandboxTrial.allCases))
  }

  @Test(.sandbox) func `memory above the limit is not taken`() throws {
    let decoder = try DecoderProcess(["--memory", "50000000"])
    _ = try decoder.abilities()
    let large = try Pixels.plain([1, 2, 3, 255], width: 4_000, height: 4_000).file(as: ".png")
    let answer = try decoder.answer(large, .png)
    #expect(answer == nil || answer?.cause == .tooLarge)
  }
}

extension Trait where Self == ConditionTrait {
  /// Skipped where the kernel has no Landlock, as under some sandboxes of a continuous integration.
  fileprivate static var sandbox: Self {
    .enabled("no process can shut itself off here") {
      try DecoderProcess().abilities().layers.contains(.files)
    }
  }
}
