import ImgdSystem
import Testing

@testable import ImgdFleet

/// What a host writes about itself, and what is read of what anybody has written.
struct HostNoteTests {
  private func read(_ text: String) -> HostNote? { HostNote.read(Array(text.utf8))?.line }

  @Test func `what was written is read`() throws {
    let note = HostNote.sample()
    let text = note.text(at: 1_000)
    #expect(text.hasPrefix("at=1000\n"))
    let read = try #require(HostNote.read(Array(text.utf8)))
    #expect(read.line == note && read.at == 1_000)
  }

  @Test func `a later version may say more, and use other words`() {
    let note = read("at=5\nversion=9\nlayout=3\ncolour=red\nDownloads.Newer=a=b\nposition=x\n")
    #expect(note?.version == "9" && note?.layout == 3 && note?.position == 0)
    #expect(note?.settings == [HostNote.Setting("Downloads.Newer", "a=b")])
  }

  @Test(arguments: [
    "", "at=5", "version=1\n", "at=-1\nversion=1\n", "at=99999999999999\nversion=1\n", "at=5\nversion=1\nnonsense\n",
    "at=5\nversion=1\n" + String(repeating: "x=y\n", count: 300),
  ])
  func `nothing else is a host`(text: String) {
    #expect(read(text) == nil)
  }

  @Test func `bytes that are no text are no host`() {
    #expect(HostNote.read(Array("at=5\nversion=1\nmachine=".utf8) + [0xFF, 0x0A]) == nil)
  }

  @Test func `names from elsewhere do no harm to a terminal, and are short`() {
    let name = "\u{1b}[31m" + String(repeating: "x", count: 200)
    #expect(read("at=5\nversion=1\nmachine=\(name)\n")?.machine.hasPrefix(#"\x1b[31mxx"#) == true)
    #expect(read("at=5\nversion=1\nmachine=\(name)\n")?.machine.count ?? 0 < 80)
  }

  @Test func `settings have the names of keys, each once, and only so many`() {
    let rows = (0..<30).map { "A.\(String(repeating: "k", count: $0 + 1))=1\n" }.joined()
    #expect(read("at=5\nversion=1\n" + rows)?.settings.count == 16)
    #expect(read("at=5\nversion=1\nA.b=1\nA.b=2\nA.\u{7f}=1\nplain=1\n")?.settings == [.init("A.b", "1")])
  }

  @Test func `a line stays within its limit, and without line breaks of its own`() {
    var note = HostNote.sample("two\nlines")
    note.settings = (0..<16).map {
      .init("A.\(String(repeating: "k", count: $0 + 1))", String(repeating: "v", count: 500))
    }
    let text = note.text(at: 1)
    #expect(text.utf8.count <= HostNote.mostBytes)
    #expect(read(text)?.machine == #"two\x0alines"#)
  }
}
