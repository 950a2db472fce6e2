import Testing

@testable import ImgdProgram

/// `[Origin example.org]`: sections of which there may be several, each with a name.
struct NamedSectionTests {
  private func read(_ texts: String...) throws -> Sample {
    var draft = ConfigurationDraft(defaults: Sample())
    for text in texts { draft.apply(path: "f", Array(text.utf8)) }
    return try draft.finished()
  }

  private func problems(_ texts: String...) -> [String] {
    var draft = ConfigurationDraft(defaults: Sample())
    for text in texts { draft.apply(path: "f", Array(text.utf8)) }
    do throws(ConfigurationProblems) {
      _ = try draft.finished()
      return []
    } catch { return error.lines }
  }

  private func values(_ sample: Sample) -> [String: [Int]] {
    Dictionary(uniqueKeysWithValues: sample.origins.map { ($0.key.text, [$0.value.rate, $0.value.places]) })
  }

  @Test func `each name has values of its own`() throws {
    let sample = try read("[Origin a.b]\nRate=5\n[Memory]\nCapacity=300\n[Origin  c]\nPlaces=2\n[Origin d]\n")
    #expect(values(sample) == ["a.b": [5, 4], "c": [0, 2], "d": [0, 4]])
    #expect(sample.capacity == 300)
  }

  @Test func `a later file adds keys to the same name, however it is written`() throws {
    #expect(try values(read("[Origin a]\nRate=5\nPlaces=2\n", "[Origin A]\nRate=6\n")) == ["a": [6, 2]])
    #expect(try values(read("[Origin a]\nRate=5\n", "[Origin a]\nRate=\n")) == ["a": [0, 4]])
  }

  @Test func `what is printed is read back equal`() throws {
    let sample = try read("[Origin b]\nRate=5\n[Origin a.b]\n")
    #expect(try read(sample.printed()) == sample)
    #expect(sample.printed().hasSuffix("[Origin b]\n# How fast.\nRate=5\n# How many.\nPlaces=4\n"))
    #expect(sample.entries.filter { $0.section == "Origin b" }.map(\.value) == ["5", "4"])
  }

  @Test func `changes name the section, or its key`() throws {
    let before = try read("[Origin a]\n[Origin b]\nRate=1\n")
    let after = try read("[Origin b]\nRate=2\n[Origin c.d]\n")
    #expect(before.changes(to: after).map(\.key) == ["Origin a", "Origin b.Rate", "Origin c.d"])
    #expect(after.changes(to: after) == [])
  }

  @Test(arguments: [
    ("[Origin a!]\nRate=1\nX=1", ["f:1: [Origin a!] is not a word: leave out the !"]),
    ("[Origin]\nRate=1", ["f:2: [Origin] needs a name: write [Origin example.org], for example, in a file"]),
    ("[Origin a.b]\nRat=1", ["f:2: Origin a.b.Rat is not a key: did you mean Origin a.b.Rate?"]),
    ("[Origin a.b]\nCapacity=1", ["f:2: Origin a.b.Capacity is not a key: did you mean Memory.Capacity?"]),
    ("[Origin a.b]\nX=1", ["f:2: Origin a.b.X is not a key: [Origin a.b] has Rate, Places"]),
    ("[Origin a.b]\nRate=x", ["f:2: Origin a.b.Rate=x is not a number: write 0 to 1000"]),
    ("[Orign a.b]\nRate=x", ["f:1: [Orign a.b] is not a section: did you mean [Origin example.org]?"]),
    ("[Memory a.b]\nRate=x", ["f:1: [Memory a.b] is not a section: did you mean [Memory]?"]),
  ])
  func `a mistake names its line`(text: String, expected: [String]) { #expect(problems(text) == expected) }

  @Test func `one section too many is a mistake`() {
    let sections = (1...1_001).map { "[Origin h\($0)]\n" }.joined()
    #expect(
      problems(sections) == ["f:1001: [Origin h1001] is one too many: write at most 1000 sections of this kind"])
    // A thousand of them may be named in any number of files.
    #expect(problems(String(sections.dropLast(15)), "[Origin h1]\nRate=1\n") == [])
  }

  @Test func `the command line sets a key of a section with a name, and the environment none`() throws {
    let setting = try CommandLineSetting("Origin a.b.Rate=1=2", for: Sample.self)
    let assignment = ConfigurationAssignment(
      origin: "--set", section: .origin, name: "a.b", key: "Rate", value: "1=2")
    #expect(setting.assignment == assignment)
    let places = ConfigurationPlaces(
      named: nil, usual: nil, environment: ["IMGD_ORIGIN_RATE": "1"],
      settings: [try CommandLineSetting("Origin A.b.Rate=7", for: Sample.self)])
    #expect {
      try places.read(over: Sample(), warn: { _ in })
    } throws: {
      "\($0)" == "IMGD_ORIGIN_RATE: [Origin] needs a name: write [Origin example.org], for example, in a file"
    }
  }
}
