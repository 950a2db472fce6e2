import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdWire

/// imgd-protocol(7) names what there is: every command, field, error and event, and no others.
struct ManualTests {
  private let page: [Substring]

  init() throws {
    let path = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    let text = try #require(read(path + "/docs/man/imgd-protocol.7"))
    page = text.split(separator: "\n")
  }

  /// The lines of a section.
  private func section(_ title: String) -> ArraySlice<Substring> {
    page.drop { $0 != ".Sh " + title }.dropFirst().prefix { !$0.hasPrefix(".Sh ") }
  }

  /// The names that the items of some lines explain.
  private func items(_ lines: some Sequence<Substring>) -> [String] {
    lines.filter { $0.hasPrefix(".It Cm ") }.flatMap { line in
      line.dropFirst(".It ".count).split(separator: " ").filter { $0 != "Cm" && $0 != "," }
        .map(String.init)
    }
  }

  /// The items of a list in a section, by its number.
  private func list(_ number: Int, of title: String) -> [String] {
    let lists = section(title).split { $0 == ".El" }
    return number < lists.count ? items(lists[number]) : []
  }

  /// The lines that clients send in the examples; the page writes `\` as `\e`.
  private var examples: [String] {
    page.filter { $0.hasPrefix("> {") }
      .map { $0.dropFirst(2).split(separator: "\\e").joined(separator: "\\") }
  }

  @Test(arguments: Request.Command.allCases)
  func `every command has an example`(_ command: Request.Command) {
    #expect(examples.contains { $0.contains(#""cmd":"\#(command.rawValue)""#) })
  }

  @Test func `the examples are requests, but for those that show an error`() {
    let wrong = examples.filter { refusal($0) != nil }
    let codes = wrong.compactMap { refusal($0)?.code }
    #expect(Set(codes) == [.badJSON, .badRequest, .unknownCommand, .unknownField])
    #expect(codes.count == 9, "\(wrong)")
  }

  @Test func `every field of fetch is explained, and no other`() {
    #expect(Set(list(0, of: "FETCH")) == Set(Request.Command.fetch.fields.fields.map(\.name)))
  }

  @Test func `every filter of purge is explained, and no other`() {
    let filters = Request.Command.purge.fields.fields.map(\.name).filter { $0 != "soft" }
    #expect(Set(items(section("PURGE"))) == Set(filters))
    #expect(section("PURGE").contains { $0.contains("soft") })
  }

  @Test(arguments: RequestField.allCases)
  func `every field occurs`(_ field: RequestField) {
    let words = page.lazy.flatMap { $0.split { $0 == " " || $0 == ":" } }
    #expect(words.contains { $0 == field.name })
  }

  @Test func `every error is explained, and no other`() {
    let codes = items(section("ERROR CODES"))
    #expect(codes.sorted() == ReplyCode.allCases.map(\.rawValue).sorted())
  }

  @Test func `every event is explained, and no other`() {
    #expect(list(0, of: "EVENTS") == ["queued", "started", "progress", "placeholder"])
    #expect(
      list(0, of: "SUBSCRIBE") == ["job", "cache", "pressure", "config", "overflow"])
  }

  @Test func `the limits are those of the protocol`() {
    let limits = list(0, of: "CONNECTIONS AND LIMITS")
    for name in ["line", "url", "identifier", "slot", "tag", "tags", "clients", "queued"] {
      #expect(limits.contains(name))
    }
  }
}
