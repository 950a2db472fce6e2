import ImgdSystem
import Testing

@testable import ImgctlCommands

/// The format of a picture that is written to a file with a name.
struct FileFormatTests {
  private let directory: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
  }

  /// Fetches a picture that comes in a format, and gives the request and what was said.
  private func fetch(
    _ name: String, _ options: [String] = [], comes format: String = "jpeg",
    by verb: String = "fetch"
  ) throws -> (request: String, run: Run) {
    let asked = Locked("")
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0 = request }
      let line = #"{"id":0,"ok":true,"format":"\#(format)","fds":[{"kind":"encoded"}]}"#
      return [.picture(line, [1])]
    }
    let run = imgctl([verb, "http://h/a", "-o", directory.file(name)] + options, daemon)
    #expect(run.exitCode == .done, "\(run.messages)")
    return (asked.withLock { $0 }, run)
  }

  @Test(arguments: [
    ("r.webp", "webp"), ("r.jpg", "jpeg"), ("r.JPEG", "jpeg"), ("r.png", "png"),
    ("a.b.avif", "avif"),
  ])
  func `a name asks for its format`(name: String, format: String) throws {
    for verb in ["fetch", "thumbnail"] {
      let (request, run) = try fetch(name, ["-f"], comes: format, by: verb)
      #expect(request.contains(#""format":"\#(format)""#))
      #expect(run.messages == "")
    }
  }

  @Test(arguments: ["r", "r.bin", "webp", ".webp", "r.bmp"])
  func `another name asks for none`(name: String) throws {
    #expect(!(try fetch(name, comes: "bmp").request.contains("format")))
  }

  @Test func `what is written in another format than its name says is told`() throws {
    #expect(try fetch("r.gif").run.messages == "http://h/a: \(directory.file("r.gif")) is a jpeg\n")
    #expect(try fetch("r.tif", comes: "tiff").run.messages == "")
    #expect(try fetch("s.gif", ["-q"]).run.messages == "")
  }

  @Test func `a format that is named counts`() throws {
    let (request, run) = try fetch("r.webp", ["--format", "jpg"])
    #expect(request.contains(#""format":"jpeg""#))
    #expect(run.messages == "http://h/a: \(directory.file("r.webp")) is a jpeg\n")
    // The original is what comes unless a format is named.
    #expect(!(try fetch("s.webp", ["--format", "original"]).request.contains(#""format""#)))
    let quality = try fetch("t.webp", ["--quality", "50"], comes: "webp")
    #expect(quality.request.contains(#""quality":50"#))
  }

  @Test func `pixels have no format`() throws {
    #expect(!(try fetch("r.png", ["--as", "pixels"]).request.contains(#""format""#)))
  }

  @Test func `the formats that are taken are named`() {
    let run = imgctl(["fetch", "u", "--format", "bitmap"])
    #expect(run.exitCode == .wrongUsage)
    #expect(
      run.messages
        == "imgctl: --format bitmap is not valid: write original, jpeg, jpg, png, webp, avif, gif, tiff or jxl\n"
    )
  }

  @Test func `several formats are a list`() throws {
    let wanted = ["--format", "avif", "--format", "jpg", "--frames", "all"]
    let request = try fetch("r.webp", wanted).request
    #expect(request.contains(#""format":["avif","jpeg"],"frames":"all""#))
  }
}
