import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdGateway

/// The targets and the words of docs/web.md are those of the gateway.
struct WebPageTests {
  private let lines: [Substring]

  init() throws {
    let page = "\(#filePath)".split(separator: "/").dropLast(4).joined(separator: "/")
    lines = try #require(read("/" + page + "/docs/web.md")).split(separator: "\n")
  }

  /// The text between backticks, in lines that begin so.
  private func words(_ isWanted: (Substring) -> Bool) -> Set<String> {
    Set(
      lines.filter(isWanted).flatMap { line in
        line.split(separator: "`", omittingEmptySubsequences: false).enumerated()
          .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      })
  }

  @Test func `its targets are taken`() throws {
    let targets = lines.filter { $0.hasPrefix("/") }.map(String.init)
    #expect(targets.count == 9)
    let presets = [try Preset(parsing: "icon:32x32")]
    let keys = try SigningKeys(lines: Array("0123456789abcdef0123456789abcdef".utf8))
    let hosts = PictureAccess(
      allow: ["example.org"], keys: keys, presets: presets, onlyPresets: false)
    for target in targets {
      let parsed = try #require(try PictureTarget.parse(target))
      _ = try hosts.admit(parsed, now: 0)
    }
    #expect(targets.count { $0.contains("YBru") || $0.contains("&signature=") } == 2)
  }

  @Test func `its tables have every parameter and option`() {
    let tables = words { $0.hasPrefix("|") }
    let names = PictureParameter.allCases.map { $0.rawValue }
    let options = PathOption.names.flatMap { $0.split(separator: "|").map(String.init) }
    let formats = WantedFormat.allCases.map { $0.rawValue }
    #expect(
      tables.isSuperset(of: names + options + formats),
      "\(Set(names + options).subtracting(tables))")
  }

  @Test func `its metrics are those of the gateway`() {
    let shown = words { $0.hasPrefix("  | `imgd_") }.filter { $0.hasPrefix("imgd_") }
    let text = GatewayMetrics.text(GatewayCounters(), of: nil)
    let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
      .map { String($0.split(separator: " ")[2]) }
    #expect(shown == Set(names))
  }

  @Test func `its errors have their status`() {
    // Those that a line of the gateway's cannot meet with.
    let impossible: [ReplyCode] = [.unknownField, .badJSON]
    for code in ReplyCode.allCases where !impossible.contains(code) {
      let status = ErrorStatus.status(of: code, origin: nil)
      guard status != 500 else { continue }
      let rows = lines.filter { $0.hasPrefix("| \(status) |") }
      #expect(rows.contains { $0.contains("`\(code.rawValue)`") }, "\(status) \(code.rawValue)")
    }
  }

  @Test func `its presets can be read`() throws {
    let line = try #require(lines.first { $0.hasPrefix("Presets=") })
    for word in line.dropFirst(8).split(separator: " ") {
      #expect(try Preset(parsing: String(word)).text == word)
    }
  }
}
