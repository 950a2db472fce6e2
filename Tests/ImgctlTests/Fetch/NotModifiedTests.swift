import ImgdSystem
import Testing

@testable import ImgctlCommands

/// A picture that the one who asks has already.
struct NotModifiedTests {
  private let condition = ["-H", #"If-None-Match: "1""#]

  /// Those of the first and the last picture are there with their bytes, the other one is not modified.
  private func daemon() throws -> ScriptedDaemon {
    let notModified = #""ok":true,"source":"memory","not_modified":true,"http":{"status":304}}"#
    return try ScriptedDaemon { request in
      let id = id(request)
      if id == "1" { return [.line("{\"id\":1,\(notModified)")] }
      guard request.contains(#""deliver":"fd""#) else {
        return [.line(#"{"id":\#(id),"ok":true,"path":"/\#(id)"}"#)]
      }
      let line = #"{"id":\#(id),"ok":true,"format":"png","fds":[{"kind":"encoded"}]}"#
      return [.picture(line, [UInt8(ascii: "a")])]
    }
  }

  private let urls = ["http://h/0", "http://h/1", "http://h/2"]

  @Test(arguments: [
    ([], "/0\n/2\n"), (["-0"], "/0\0/2\0"),
    (["-l"], "/0\thttp://h/0\n-\thttp://h/1\n/2\thttp://h/2\n"),
  ])
  func `it has no path, and is no failure`(options: [String], output: String) throws {
    let run = imgctl(["fetch"] + condition + urls + options, try daemon())
    #expect(run.output == output)
    #expect(run.messages == "http://h/1: not modified\n" && run.exitCode == .done)
  }

  @Test func `its line is printed as JSON`() throws {
    let run = imgctl(["fetch", "--json"] + condition + [urls[0], urls[1]], try daemon())
    let last = run.output.split(separator: "\n").last ?? ""
    #expect(last.contains(#""not_modified":true"#) && last.contains(#""url":"http://h/1""#))
    #expect(run.exitCode == .done)
  }

  @Test func `nothing is written for it, and the next picture keeps its bytes`() throws {
    let directory = try ScratchDirectory()
    let run = imgctl(["fetch", "-o", directory.path] + condition + urls, try daemon())
    #expect(run.exitCode == .done, "\(run.messages)")
    #expect(run.output.split(separator: "\n").count == 2)
    #expect(run.messages.contains("http://h/1: not modified"))
  }

  @Test func `quiet says nothing of it`() throws {
    let run = imgctl(["--quiet", "fetch"] + condition + urls, try daemon())
    #expect(run.messages == "" && run.exitCode == .done)
  }
}
