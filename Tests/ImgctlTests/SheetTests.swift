import Glibc
import Testing

@testable import ImgctlCommands

struct SheetTests {
  /// A daemon with entries of some URLs in memory, and one more on disk; the second's picture has gone.
  private func daemon(
    _ urls: [String], failure: String = "not_cached"
  ) throws -> ScriptedDaemon {
    try ScriptedDaemon { request in
      if request.contains(#""cmd":"entries""#) {
        let listed = request.contains(#""tier":"disk""#) ? urls + ["http://h/disk.png"] : urls
        let entries = listed.map {
          #"{"url":"\#($0)","identifier":null,"format":"png","width":640,"height":480,"bytes":2048,"age":61}"#
        }
        return [.line(#"{"ok":true,"entries":[\#(entries.joined(separator: ","))],"cursor":null}"#)]
      }
      #expect(request.contains(#""cache":"peek","deliver":"inline","#))
      #expect(
        request.contains(
          #""resize":{"width":160,"height":160},"format":["webp","jpeg","png"],"frames":"first""#))
      if id(request) == "1" {
        return [.line(#"{"id":1,"ok":false,"error":{"code":"\#(failure)","message":"gone"}}"#)]
      }
      return [
        .line(
          #"{"id":\#(id(request)),"ok":true,"type":"image/webp","width":160,"height":120,"data":"AAAA"}"#
        )
      ]
    }
  }

  private let hostile = [
    #"http://h/\"><script>alert(1)</script>"#, "http://h/gone.png", "javascript:alert(2)",
  ]

  @Test func `hostile URLs stay text`() throws {
    let run = imgctl(["sheet"], try daemon(hostile))
    #expect(run.exitCode == .done)
    #expect(!run.output.contains("<script") && !run.output.contains(#"href="javascript"#))
    #expect(
      run.output.contains(#"<a href="http://h/&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;""#))
    #expect(run.output.contains("javascript:alert(2)<br>png · 640×480<br>2.0K · 1min 1s old"))
  }

  @Test func `pictures of both tiers are shown once, and those that have gone are counted`() throws {
    let run = imgctl(["sheet"], try daemon(hostile))
    #expect(run.output.split(separator: "<li>").count - 1 == 3)
    #expect(
      run.output.contains(#"<img src="data:image/webp;base64,AAAA" width="160" height="120""#))
    #expect(run.output.contains("disk.png</a>"))
    #expect(run.messages == "3 pictures; 1 left out, which could not be had\n")
  }

  @Test func `a limit and a tier restrict the sheet`() throws {
    let one = imgctl(["sheet", "--limit", "1"], try daemon(hostile))
    #expect(one.messages == "1 picture\n")
    let memory = imgctl(["sheet", "--tier", "memory", "-q"], try daemon(["http://h/a"]))
    #expect(!memory.output.contains("disk.png") && memory.messages == "")
  }

  @Test func `without a decoder there is no sheet`() throws {
    let lost = imgctl(["sheet"], try daemon(hostile, failure: "unavailable"))
    #expect(lost.exitCode == .failed && lost.output == "" && lost.messages.contains("gone"))
  }

  @Test func `a terminal gets no page`() throws {
    let run = imgctl(["sheet"], onTerminal: true)
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages == "imgctl: standard output is a terminal: write -o FILE.html\n")
  }

  @Test func `a file is not replaced without the consent`() throws {
    var template = Array("/tmp/imgctl-sheet-XXXXXX".utf8CString)
    let path = String(cString: try #require(mkdtemp(&template))) + "/sheet.html"
    defer {
      unlink(path)
      rmdir(String(path.dropLast("/sheet.html".count)))
    }
    let arguments = ["sheet", "-o", path]
    let first = imgctl(arguments, try daemon(["http://h/a"]))
    #expect(first.messages == "1 picture in \(path); 1 left out, which could not be had\n")
    let again = imgctl(arguments, try daemon(["http://h/a"]))
    #expect(again.exitCode == .fileExists)
    #expect(again.messages == "imgctl: \(path) exists: write --force to replace it\n")
    #expect(imgctl(arguments + ["--force"], try daemon(["http://h/a"])).exitCode == .done)
  }
}
