import Testing

@testable import ImgctlCommands

@Suite struct CompletionScriptTests {
  @Test(arguments: ["bash", "zsh", "fish"])
  func `a script names every command and option`(shell: String) {
    let run = imgctl(["completion", shell])
    #expect(run.exitCode == .done && run.messages == "")
    for verb in Verbs.all {
      #expect(run.output.contains(verb.description.name))
      for option in verb.description.options { #expect(run.output.contains(option.name)) }
    }
  }

  @Test func `another shell is refused with the nearest name`() {
    let run = imgctl(["completion", "fisch"])
    #expect(run.exitCode == .wrongUsage && run.output == "")
    #expect(run.messages == "imgctl: completion fisch is not valid: did you mean fish?\n")
    #expect(imgctl(["completion"]).messages == "imgctl: completion needs a SHELL\n")
  }
}
