import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// Lists of URLs with names for their files, and the directories for these.
struct NamedListTests {
  private let scratch: ScratchDirectory

  init() throws {
    scratch = try ScratchDirectory()
  }

  private func fetch(_ list: String, _ options: [String]) throws -> Run {
    imgctl(["fetch", "-"] + options, try pictureDaemon(), input: list)
  }

  @Test func `a name is that of the file`() throws {
    let list = "http://h/1 a.png\nhttp://h/2\tb c.png \n http://h/3   d\nhttp://h/4\n"
    let run = try fetch(list, ["-o", scratch.path])
    #expect(run.exitCode == .done, "\(run.messages)")
    #expect(scratch.names == ["4.png", "a.png", "b c.png", "d.png"])
    #expect(scratch.summary("d.png") == "300000 2")
  }

  @Test func `a name asks for its format`() throws {
    let asked = Locked<[String]>([])
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0.append(request) }
      return [.line(#"{"id":\#(id(request)),"ok":false,"error":{"code":"dns","message":"m"}}"#)]
    }
    _ = imgctl(["fetch", "-", "-o", scratch.path], daemon, input: "u a.webp\nu b\n")
    #expect(asked.withLock { $0.map { $0.contains(#""format":"webp""#) } } == [true, false])
  }

  @Test func `a name may have directories, which are made`() throws {
    let run = try fetch("http://h/1 x/y/a.png\nhttp://h/2 x/b.png\n", ["-o", scratch.path])
    #expect(run.output == "\(scratch.file("x/y/a.png"))\n\(scratch.file("x/b.png"))\n")
    #expect(scratch.summary("x/b.png") == "300000 1")
    for name in ["x/y/a.png", "x/b.png"] { unlink(scratch.file(name)) }
    for name in ["x/y", "x"] { rmdir(scratch.file(name)) }
  }

  @Test(arguments: [
    "/etc/x", "../x", "a/../../x", "a/..", "..", ".", "a//b", "a/", "./a", "a\u{1B}b", "a/./b",
  ])
  func `a name that leads elsewhere is refused`(name: String) throws {
    let run = try fetch("http://h/1 \(name)\nhttp://h/2 ok.png\n", ["-o", scratch.path])
    #expect(run.exitCode == .failed)
    #expect(run.messages.hasPrefix("imgctl: http://h/1: '") && !run.messages.contains("\u{1B}"))
    #expect(run.messages.hasSuffix("' is no name of a file below the directory\n"))
    #expect(scratch.names == ["ok.png"])
  }

  @Test func `a name that is taken is refused or kept`() throws {
    _ = scratch.make("a.png")
    let refused = try fetch("http://h/1 a.png\n", ["-o", scratch.path])
    #expect(refused.exitCode == .fileExists)
    let kept = try fetch("http://h/1 a.png\n", ["-o", scratch.path, "-n"])
    #expect(kept.exitCode == .done && kept.output == scratch.file("a.png") + "\n")
    #expect(scratch.summary("a.png") == "3 ?")
  }

  @Test func `a name without a directory is refused, and counts for nothing without files`() throws {
    let run = imgctl(
      ["fetch", "-"], try ScriptedDaemon { [.line(#"{"id":\#(id($0)),"ok":true,"path":"/0"}"#)] },
      input: "http://h/my cat.jpg\nhttp://h/1\n")
    #expect(run.output == "/0\n" && run.exitCode == .failed)
    #expect(
      run.messages == """
        imgctl: http://h/my: the name 'cat.jpg' needs -o and a directory; a space in a URL is %20

        """)
    let answer = ScriptedDaemon.Answer.line(#"{"id":0,"ok":true,"source":"network","bytes":1}"#)
    let prefetch = imgctl(["prefetch", "-"], try ScriptedDaemon { _ in [answer] }, input: "u a\n")
    #expect(prefetch.output.hasPrefix("1 fetched") && prefetch.exitCode == .done)
  }

  @Test func `a byte order mark is no part of the first URL`() throws {
    let asked = Locked("")
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0 += request }
      return [.line(#"{"id":\#(id(request)),"ok":true,"path":"/0"}"#)]
    }
    let list = scratch.make("list", "\u{FEFF}http://h/1\r\nhttp://h/\u{FEFF}2\r\n")
    #expect(
      imgctl(["fetch", "-i", list, "-"], daemon, input: "\u{FEFF}# none\n").exitCode == .done)
    #expect(asked.withLock { $0.contains(#""url":"http://h/1""#) })
    #expect(asked.withLock { !$0.contains(#""url":"http://h/2""#) })
  }

  @Test func `a directory that ends in a slash is made`() throws {
    let directory = scratch.file("new/")
    let run = try fetch("http://h/1\n", ["-o", directory])
    #expect(run.output == directory + "1.png\n", "\(run.messages)")
    unlink(directory + "1.png")
    rmdir(directory)
    let deep = try fetch("http://h/1\n", ["-o", scratch.file("none/new/")])
    #expect(deep.exitCode == .failed && scratch.names == [])
    let file = scratch.make("file")
    let refused = try fetch("http://h/1\n", ["-o", file + "/"])
    #expect(refused.exitCode == .failed)
    #expect(refused.messages == "imgctl: mkdir \(file)/: Not a directory\n")
  }

  @Test func `several pictures need a directory`() throws {
    let run = imgctl(["fetch", "a", "b", "-o", scratch.file("x")], try pictureDaemon())
    #expect(run.exitCode == .wrongUsage)
    let path = scratch.file("x")
    #expect(
      run.messages
        == "imgctl: -o \(path) takes one picture: for 2 URLs name a directory: \(path)/\n")
    // How many there are on standard input is not known before its end.
    let list = imgctl(["fetch", "-", "a", "-o", path], try pictureDaemon(), input: "b\nc\n")
    #expect(list.exitCode == .wrongUsage)
    #expect(
      list.messages
        == "imgctl: -o \(path) takes one picture: for several URLs name a directory: \(path)/\n")
  }

  @Test func `a prefetch counts what the daemon was not asked for`() throws {
    let answer = ScriptedDaemon.Answer.line(#"{"id":0,"ok":true,"source":"network","bytes":1}"#)
    let long = String(repeating: "x", count: 65_530)
    let list = scratch.make("list", "u\n\(long)\n\(long)\(long)\n")
    let run = imgctl(["prefetch", "-i", list], try ScriptedDaemon { _ in [answer] })
    #expect(run.output.hasPrefix("1 fetched, 0 already there, 2 failed"))
    #expect(run.exitCode == .badURL)
  }
}
