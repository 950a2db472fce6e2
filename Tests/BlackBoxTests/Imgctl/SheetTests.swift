import ImgdTestSupport
import Testing

/// `imgctl sheet`, a page with small pictures.
struct SheetTests {
  private let cache: FilledCache

  init() throws {
    cache = try FilledCache()
  }

  @Test func `a sheet has the pictures of the cache, and fetches nothing`() throws {
    let requests = cache.stage.origin.requests.count
    let page = cache.directory.path + "/sheet.html"
    let (code, output) = try cache.imgctl("sheet", "-o", page, "--size", "16")
    #expect(code == 0 && output == "3 pictures in \(page)\n", "\(output)")
    let text = try #require(read(page))
    for number in 0..<3 {
      #expect(text.contains("<a href=\"\(cache.stage.origin.url("/\(number).png"))\""))
    }
    #expect(text.split(separator: "data:image/webp;base64,").count == 4)
    #expect(cache.stage.origin.requests.count == requests)
    // What was made for the page does not stay.
    #expect(try cache.stage.stats("memory", "entries") == 3)
    #expect(try cache.imgctl("sheet", "-o", page).code == 11)
    let piped = try cache.shell("$imgctl sheet -q -n 1 | grep -c '<li>'")
    #expect(piped.output == "1\n")
  }
}
