import Testing

@testable import ImgctlCommands

struct ShowTests {
  private static let kitty = "\u{1b}_Gi=31;OK\u{1b}\\"

  private func replies(_ text: String) -> TerminalReplies {
    var replies = TerminalReplies()
    for byte in text.utf8 { replies.read(byte) }
    return replies
  }

  @Test func `a terminal that has everything says so`() {
    let all = replies(Self.kitty + "\u{1b}[6;20;10t\u{1b}[?62;4;22c")
    #expect(all.hasKittyPictures && all.hasSixels && all.isComplete)
    #expect(all.cell == PixelSize(width: 10, height: 20))
  }

  @Test(arguments: [
    "\u{1b}[?62;22c", "\u{1b}[?1;2c", "\u{1b}_Gi=31;ENOTSUPPORTED:no\u{1b}\\\u{1b}[?6c",
    "typed\u{1b}[A\u{1b}OP\u{1b}[?64;1c", "\u{1b}[6;0;99999t\u{1b}[?4c",
  ])
  func `a terminal without pictures has answered, too`(text: String) {
    let none = replies(text)
    #expect(none.isComplete && !none.hasKittyPictures && !none.hasSixels && none.cell == nil)
  }

  @Test(arguments: [
    "", "\u{1b}", "\u{1b}[?62;4", "\u{1b}_Gi=31;OK", "\u{1b}[6;20;10", "\u{1b}[c", "4c",
    "\u{1b}_" + String(repeating: "x", count: 10_000),
  ])
  func `half an answer is none`(text: String) {
    var half = replies(text)
    #expect(!half.isComplete && !half.hasSixels && !half.hasKittyPictures && half.cell == nil)
    if text.count > 1000 {
      for byte in "\u{1b}[?4;4c".utf8 { half.read(byte) }
      #expect(half.isComplete)
    }
  }

  @Test(
    arguments: [
      ("40x20", 40, 20), ("40x", 40, nil), ("x20", nil, 20),
    ] as [(String, Int?, Int?)])
  func `a size is columns and rows`(text: String, columns: Int?, rows: Int?) throws {
    let limit = try CellLimit(text)
    #expect(limit.columns == columns && limit.rows == rows)
  }

  @Test(arguments: [
    "", "x", "40", "0x5", "5x-1", "1x2x3", "axb", "40X20", "99999999999999999999x1",
  ])
  func `another size is refused`(text: String) {
    let run = imgctl(["show", "http://h/a", "--size=\(text)"])
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages.contains("write 40x20, 40x or x20"), "\(run.messages)")
  }

  @Test(arguments: [
    // As large as there is room for, and with the proportions of the picture.
    ((640, 480), (80, 24), (64, 24)), ((480, 640), (80, 24), (36, 24)),
    ((1000, 10), (80, 24), (80, 1)), ((10, 1000), (80, 24), (1, 24)),
    // A small one is not enlarged: a pixel is half a cell at most.
    ((16, 16), (80, 24), (16, 8)), ((1, 1), (80, 24), (1, 1)), ((3, 5), (80, 24), (3, 3)),
  ])
  func `a picture of half blocks keeps its proportions`(
    picture: (Int, Int), screen: (Int, Int), cells: (Int, Int)
  ) {
    let found = Canvas.cells(
      for: picture.0, picture.1, within: CellSize(columns: screen.0, rows: screen.1))
    #expect(found == CellSize(columns: cells.0, rows: cells.1))
  }

  @Test(arguments: [
    "\"width\":2,\"height\":2,\"stride\":7", "\"width\":0,\"height\":2,\"stride\":8",
    "\"width\":2,\"height\":70000,\"stride\":8",
    "\"width\":2,\"height\":2,\"stride\":9223372036854775807",
    "\"width\":2,\"height\":3,\"stride\":8",
  ])
  func `pixels that are not as described are not read`(measures: String) throws {
    let daemon = try ScriptedDaemon { _ in
      let line = #"{"ok":true,"fds":[{"kind":"pixels","format":"rgba8",\#(measures)}]}"#
      return [.picture(line, Array(repeating: 255, count: 16))]
    }
    let run = imgctl(["show", "--protocol", "kitty", "http://h/a"], daemon)
    #expect(run.exitCode == .failed && run.output == "" && run.messages != "")
  }

  @Test(arguments: [8, 12])
  func `kitty gets all rows, whatever lies between them`(stride: Int) throws {
    let daemon = try ScriptedDaemon { request in
      #expect(request.contains(#""deliver":"pixels","resize":{"width":40,"height":60}"#))
      let line =
        #"{"ok":true,"fds":[{"format":"rgba8","width":2,"height":2,"stride":\#(stride)}]}"#
      let bytes = (0..<UInt8(stride * 2)).map { Int($0) % stride < 8 ? $0 % UInt8(stride) : 99 }
      return [.picture(line, bytes)]
    }
    let run = imgctl(["show", "--protocol", "kitty", "-s", "4x3", "http://h/a"], daemon)
    #expect(
      run.output == "\u{1b}_Ga=T,f=32,s=2,v=2,q=2,m=0;AAECAwQFBgcAAQIDBAUGBw==\u{1b}\\\n")
  }

  @Test func `a picture that fails does not keep the next from being shown`() throws {
    let daemon = try ScriptedDaemon { request in
      guard request.contains("/b") else {
        return [.line(#"{"ok":false,"error":{"code":"not_an_image","message":"no picture"}}"#)]
      }
      let line = #"{"ok":true,"fds":[{"format":"rgba8","width":1,"height":1,"stride":4}]}"#
      return [.picture(line, [1, 2, 3, 4])]
    }
    let run = imgctl(["show", "--protocol", "kitty", "http://h/a", "http://h/b"], daemon)
    #expect(run.exitCode == .noPicture)
    #expect(run.messages == "imgctl: http://h/a: no picture (not_an_image)\n")
    #expect(run.output.contains(";AQIDBA==\u{1b}\\"))
  }
}
