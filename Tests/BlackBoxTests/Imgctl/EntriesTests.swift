import ImgdTestSupport
import ImgdWire
import Testing

/// `imgctl entries`, `query` and `config`: what the daemon has.
struct EntriesTests {
  private let cache: FilledCache

  init() throws {
    cache = try FilledCache()
  }

  @Test(arguments: ["memory", "disk"])
  func `entries of a tier are listed`(tier: String) throws {
    let table = try cache.imgctl("entries", "--tier", tier).output.split(separator: "\n")
    #expect(table.count == 4 && table[0].contains("BYTES"))
    for number in 0..<3 { #expect(table.contains { $0.hasSuffix("/\(number).png") }) }
    let lines = try cache.imgctl("entries", "--tier", tier, "--json", "-n", "2").output.split(
      separator: "\n")
    #expect(lines.count == 2)
    #expect(try JSONValue(parsing: String(lines[0]))["tags"]?[0]?.string == "t")
    let none = try cache.imgctl("entries", "--tier", tier, "--prefix", "http://elsewhere/")
    #expect(none.output == "no entry matches\n" && none.code == 0)
  }

  @Test func `a query tells without a use`() throws {
    let url = cache.stage.origin.url("/1.png")
    let hits = try cache.stage.stats("memory", "hits")
    let found = try cache.imgctl("query", url)
    #expect(found.code == 0 && found.output.contains("\n  format     png\n"))
    #expect(try cache.imgctl("query", cache.stage.origin.url("/none.png")).code == 6)
    #expect(try cache.imgctl("query", url, cache.stage.origin.url("/none.png")).code == 6)
    #expect(try cache.imgctl("query", "nonsense").code == 10)
    #expect(try cache.stage.stats("memory", "hits") == hits)
  }

  @Test func `the configuration is as in the file`() throws {
    let whole = try cache.imgctl("config").output
    #expect(whole.contains("\n[Downloads]\nMaxActive=32\n") && whole.contains("\nRetries=0\n"))
    #expect(try cache.imgctl("config", "downloads.retries").output == "0\n")
    // It can be read again: nothing is lost on the way.
    try write(whole, to: cache.directory.path + "/imgd.conf")
    let checked = try ChildProcess.run(
      BuiltProduct.path(of: "imgd"),
      ["--check-config", "--config", cache.directory.path + "/imgd.conf"])
    #expect(checked.code == 0, "\(checked.output)")
  }
}
