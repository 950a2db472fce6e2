import Testing

@testable import ImgdSystem

struct CommandLineScannerTests {
  private static let options = [
    CommandLineOption("output", letter: "o", takesValue: true),
    CommandLineOption("quiet", letter: "q"),
    CommandLineOption("socket", takesValue: true),
    CommandLineOption("set", takesValue: true),
    CommandLineOption("soft"),
  ]

  private func scan(_ arguments: [String]) throws(UsageProblem) -> [CommandLineScanner.Item] {
    var scanner = CommandLineScanner(arguments, options: Self.options)
    var items: [CommandLineScanner.Item] = []
    while let item = try scanner.next() { items.append(item) }
    return items
  }

  private func complaint(_ arguments: [String]) -> String? {
    do throws(UsageProblem) {
      _ = try scan(arguments)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func `values are in the next argument or after an equals sign`() throws {
    let expected: [CommandLineScanner.Item] = [.option("output", value: "a=b")]
    #expect(try scan(["--output", "a=b"]) == expected)
    #expect(try scan(["--output=a=b"]) == expected)
    #expect(try scan(["-o", "a=b"]) == expected)
    #expect(try scan(["-oa=b"]) == expected)
    #expect(try scan(["--output="]) == [.option("output", value: "")])
    #expect(try scan(["--output", "--quiet"]) == [.option("output", value: "--quiet")])
  }

  @Test func `letters may be bundled`() throws {
    #expect(
      try scan(["-qo", "x", "-qqoy"]) == [
        .option("quiet", value: nil), .option("output", value: "x"),
        .option("quiet", value: nil), .option("quiet", value: nil), .option("output", value: "y"),
      ])
  }

  @Test func `operands may be anywhere`() throws {
    #expect(
      try scan(["a", "-q", "-", "--", "-q", "--", "b"]) == [
        .operand("a"), .option("quiet", value: nil), .operand("-"), .operand("-q"),
        .operand("--"), .operand("b"),
      ])
    #expect(try scan(["", "--"]) == [.operand("")])
    #expect(try scan([]) == [])
  }

  @Test func `a unique beginning suffices`() throws {
    #expect(try scan(["--qui"]) == [.option("quiet", value: nil)])
    #expect(try scan(["--sof", "--soc", "x"]).count == 2)
    #expect(complaint(["--so"]) == "--so could mean --socket or --soft")
  }

  @Test func `the remaining arguments are available`() throws {
    var scanner = CommandLineScanner(["-q", "fetch", "-x", "--", "y"], options: Self.options)
    _ = try scanner.next()
    #expect(try scanner.next() == .operand("fetch"))
    #expect(scanner.rest == ["-x", "--", "y"])
  }

  @Test(arguments: [
    (["--outptu", "x"], "unknown option --outptu: did you mean --output?"),
    (["--nonsense"], "unknown option --nonsense: --help lists the options"),
    (["--=x"], "unknown option --: --help lists the options"),
    (["-x"], "unknown option -x: --help lists the options"),
    (["--quiet=yes"], "--quiet takes no value, but 'yes' was given"),
    (["--output"], "--output needs a value"),
    (["-qo"], "-o needs a value"),
  ])
  func `mistakes are named`(arguments: [String], sentence: String) {
    #expect(complaint(arguments) == sentence)
  }
}
