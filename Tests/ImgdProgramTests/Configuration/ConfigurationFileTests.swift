import Testing

@testable import ImgdProgram

struct ConfigurationFileTests {
  private func read(_ text: String) -> ConfigurationFile {
    read(Array(text.utf8))
  }

  private func read(_ bytes: [UInt8]) -> ConfigurationFile {
    ConfigurationFile(
      path: "f", bytes: bytes, sections: [.memory, .http, .downloads, .network], example: .memory)
  }

  private func assignment(
    _ line: Int, _ section: ConfigurationSection, _ key: String, _ value: String
  ) -> ConfigurationAssignment {
    ConfigurationAssignment(origin: "f:\(line)", section: section, key: key, value: value)
  }

  @Test(arguments: [
    "[Memory]\nCapacity=1M", "[Memory]\nCapacity=1M\n", "  [Memory]  \r\n  Capacity \t=  1M  \r\n",
    "# a\n[Memory]\n;b\nCapacity=1M", "[Memory]\nCapacity=\\\n1M",
  ])
  func `blanks around names and values are ignored`(text: String) {
    let file = read(text)
    #expect(file.problems == [])
    #expect(file.assignments.map(\.key) == ["Capacity"])
    #expect(file.assignments.map(\.value) == ["1M"])
  }

  @Test func `comments and empty lines are ignored`() {
    let file = read("\n# Capacity=1\n;[Nonsense]\n\n   # x = y\n")
    #expect(file.assignments == [])
    #expect(file.problems == [])
  }

  @Test func `a value may hold equals signs and comment signs`() {
    let file = read("[Downloads]\nUserAgent=a=b # c ; d")
    #expect(file.assignments == [assignment(2, .downloads, "UserAgent", "a=b # c ; d")])
  }

  @Test func `a backslash continues the line across comments`() {
    let file = read("[Network]\nAllow=10.0.0.0/8 \\\n# why\n  fd00::/8 \\\n;\n::1/128\nDeny=\n")
    #expect(
      file.assignments == [
        assignment(2, .network, "Allow", "10.0.0.0/8  fd00::/8  ::1/128"),
        assignment(7, .network, "Deny", ""),
      ])
  }

  @Test func `a continued line may be the last one`() {
    #expect(
      read("[Memory]\nCapacity=1M \\").assignments == [assignment(2, .memory, "Capacity", "1M")])
    #expect(read("\\").assignments == [])
  }

  @Test func `a section may appear several times`() {
    let file = read("[Memory]\nA=1\n[HTTP]\nB=2\n[Memory]\nC=3")
    #expect(
      file.assignments == [
        assignment(2, .memory, "A", "1"), assignment(4, .http, "B", "2"),
        assignment(6, .memory, "C", "3"),
      ])
  }

  @Test(arguments: [
    (
      "Capacity=1",
      "f:1: 'Capacity=1' comes before any section: write [Memory], for example, above it"
    ),
    ("[Memory]\nCapacity", "f:2: 'Capacity' is not an assignment: write Key=Value"),
    ("[Memry]\nCapacity=1", "f:1: [Memry] is not a section: did you mean [Memory]?"),
    ("[memory]", "f:1: [memory] is not a section: did you mean [Memory]?"),
    (
      "[Sundry]",
      "f:1: [Sundry] is not a section: write [Control], [Memory], [Disk], [Downloads], [HTTP], "
        + "[Network], [Decode], [Fleet], [Origin example.org] or [HTTP-Gateway]"
    ),
    ("[Memory", "f:1: '[Memory' is not a section: write [Memory], for example"),
    ("[]", "f:1: '[]' is not a section: write [Memory], for example"),
    ("\n\n[a\u{1B}]b", "f:3: '[a\\x1b]b' is not a section: write [Memory], for example"),
  ])
  func `each mistake is reported with its line`(text: String, problem: String) {
    #expect(read(text).problems == [problem])
    #expect(read(text).assignments == [])
  }

  @Test func `text that is not UTF-8 is refused with its line`() {
    let bytes = Array("[Memory]\nA=1\nB=".utf8) + [0xFF, 10] + Array("C=\u{FFFD}".utf8)
    let file = read(bytes)
    #expect(file.problems == ["f:3: the line is not UTF-8"])
    #expect(file.assignments.map(\.key) == ["A", "C"])
  }

  @Test func `all mistakes are reported`() {
    let file = read("x\n[Nope]\nA=1\n[HTTP]\ny\nA=1")
    #expect(file.problems.map { $0.prefix(4) } == ["f:1:", "f:2:", "f:5:"])
    #expect(file.assignments == [assignment(6, .http, "A", "1")])
  }

  @Test func `a file cut anywhere is read`() {
    let whole = Array(
      (Sample().printed() + "[Network]\r\nAllow=10.0.0.0/8 \\\n;x\n ::1/128\nProxy=ü\n").utf8
    )
    for length in 0...whole.count {
      let file = read(Array(whole[..<length]))
      #expect(file.assignments.count <= Sample.keys.count + 2)
    }
  }

  @Test func `a file with any byte in any place is read`() {
    let whole = Array("[HTTP]\nHeuristic=10% \\\n#\n [;]\\".utf8)
    for place in whole.indices {
      for byte in UInt8.min...UInt8.max {
        var bytes = whole
        bytes[place] = byte
        let file = read(bytes)
        #expect(file.assignments.count <= 1)
      }
    }
  }

  @Test func `the sections of another program are skipped with all that is in them`() {
    let foreign = Array("[HTTP-Gateway]\nAllow=a\nnonsense\n".utf8) + [0xFF, 10]
    let file = read(foreign + Array("[Memory]\nA=1\n[Fleet]\nB=2\n[HTTP]\nC=3".utf8))
    #expect(file.problems == [])
    #expect(
      file.assignments == [assignment(6, .memory, "A", "1"), assignment(10, .http, "C", "3")])
  }

  @Test func `the name of a section of another program is suggested as well`() {
    #expect(
      read("[HTTP-Gatewy]").problems
        == ["f:1: [HTTP-Gatewy] is not a section: did you mean [HTTP-Gateway]?"])
  }
}
