import ImgdTestSupport
import ImgdWire
import Testing

/// The examples of the protocol's reference page, played as they stand there.
struct ProtocolExamples {
  struct Example: Sendable, CustomTestStringConvertible {
    let heading: String
    let line: Int
    let text: String
    var testDescription: String { "\(heading), line \(line)" }
  }

  static let page =
    #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    + "/docs/protocol.md"

  static let all: [Example] = {
    var examples: [Example] = []
    var heading = ""
    var block: [Substring]?
    let lines = (read(page) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      if line == "```imgd" {
        block = []
      } else if line == "```", let text = block {
        examples.append(
          Example(
            heading: heading, line: index + 1 - text.count, text: text.joined(separator: "\n")))
        block = nil
      } else if block != nil {
        block?.append(line)
      } else if line.hasPrefix("#") {
        heading = String(line.drop { $0 == "#" || $0 == " " })
      }
    }
    return examples
  }()

  @Test func `the page has examples`() {
    #expect(Self.all.count > 20)
  }

  @Test(arguments: all)
  func `an example happens as the page says`(_ example: Example) throws {
    let stage = try Stage()
    let cat = OriginAnswer.picture(
      TestPicture.jpeg(width: 640, height: 480, padding: Self.catPadding), type: "image/jpeg",
      headers: [("ETag", "\"7c4a\""), ("Last-Modified", "Tue, 01 Jul 2025 10:00:00 GMT")])
    // What is to be cancelled does not end before.
    let gate = Gate()
    stage.origin.plan("/cat.jpg", .held(at: gate, then: cat))
    stage.origin.plan("/logo.png", .picture(TestPicture.png(width: 64, height: 64)))
    stage.origin.plan("/moved.png", .redirect(to: "/logo.png", status: 301))
    stage.origin.plan("/photo", .picture(png(), headers: [("Vary", "Accept")]))
    stage.origin.plan("/page.html", .picture(Array("<html></html>".utf8), type: "text/html"))
    for part in Self.parts(of: example.text) {
      if !part.contains(Self.cancellation) { gate.open() }
      try stage.play(part)
    }
  }

  private static let cancellation = #""code":"cancelled""#

  /// A text up to the line that says that something was cancelled, and the rest; the whole text where none does.
  private static func parts(of text: String) -> [String] {
    let lines = text.split(separator: "\n")
    guard let last = lines.firstIndex(where: { $0.contains(cancellation) }) else { return [text] }
    return [lines[...last], lines[(last + 1)...]].map { $0.joined(separator: "\n") }
  }

  /// Makes the cat as large as the page says.
  private static let catPadding = 48_211 - TestPicture.jpeg(width: 640, height: 480).count
}
