import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgctlCommands

/// Pictures that the user has: which words stand for them, and how they go to the daemon.
struct LocalFileTests {
  private let files: ScratchDirectory

  init() throws { files = try ScratchDirectory() }

  /// A daemon that answers with the name in the request, or with what is in the file that came with it.
  private func echo(clients: Int = 1) throws -> ScriptedDaemon {
    try ScriptedDaemon(
      clients: clients,
      withFiles: { request, file in
        [.line(#"{"id":\#(id(request)),"ok":true,"path":"\#(file ?? "-")"}"#)]
      })
  }

  @Test func `files and URLs go over one connection, each file with its own line`() throws {
    let paths = (0..<300).map { files.make("\($0).png", "picture \($0)") }
    let words = paths.flatMap { [$0, "http://h/" + $0] }
    let run = imgctl(["fetch"] + words, try echo())
    #expect(run.output == (0..<300).map { "picture \($0)\n-\n" }.joined())
    #expect(run.exitCode == .done, "\(run.messages)")
  }

  @Test func `a file has the URL of a descriptor, and is kept where its path is wanted`() throws {
    let path = files.make("a.png")
    let seen = Locked<[String]>([])
    let daemon = try ScriptedDaemon(clients: 3) { request in
      seen.withLock { $0.append(request) }
      return [.picture(#"{"id":0,"ok":true,"format":"png","path":"/a","fds":[{"kind":"encoded"}]}"#, [1])]
    }
    for options in [[], ["--as", "bytes"], ["--as", "bytes", "--store", "all"]] {
      #expect(imgctl(["fetch", path] + options, daemon).exitCode == .done)
    }
    let stores = seen.withLock { $0 }.map { $0.split(separator: #""store":"#).dropFirst().first?.prefix(5) }
    #expect(stores == [#""all""#, nil, #""all""#])
    #expect(seen.withLock { $0 }.allSatisfy { $0.contains(#""url":"fd:""#) })
  }

  @Test func `a daemon that comes back gets the files again`() throws {
    let paths = (0..<3).map { files.make("\($0).png", "picture \($0)") }
    let count = Locked(0)
    let daemon = try ScriptedDaemon(
      clients: 2,
      withFiles: { request, file in
        let isFirst = count.withLock { count in
          count += 1
          return count == 1
        }
        return isFirst ? [.close] : [.line(#"{"id":\#(id(request)),"ok":true,"path":"\#(file ?? "-")"}"#)]
      })
    #expect(imgctl(["fetch"] + paths, daemon).output == "picture 0\npicture 1\npicture 2\n")
  }

  @Test func `patterns and directories stand for the files in them`() throws {
    for name in ["b.png", "a.png", "c.gif", "[x].png"] { _ = files.make(name, name) }
    let below = files.file("[d]*")
    mkdir(below, 0o700)
    defer {
      unlink(below + "/e.png")
      rmdir(below)
    }
    try write("e.png", to: below + "/e.png")
    let daemon = try echo(clients: 4)
    #expect(imgctl(["fetch", files.file("*.png")], daemon).output == "[x].png\na.png\nb.png\n")
    #expect(imgctl(["fetch", files.path], daemon).output == "[x].png\na.png\nb.png\nc.gif\n")
    #expect(imgctl(["fetch", files.file("?d?*")], daemon).output == "e.png\n", "a directory that matches")
    #expect(imgctl(["fetch", files.file("[x].png")], daemon).output == "[x].png\n", "a name is no pattern")
  }

  @Test func `a list has paths, also with blanks and with names`() throws {
    let list = [files.make("a b.png", "blank"), files.make("c.png", "named") + " c.gif", "http://h/x"]
    let run = imgctl(["fetch", "-", "-l", "--as", "none"], try echo(), input: list.joined(separator: "\n"))
    #expect(run.messages.contains("--list prints paths"), "the two exclude each other")
    let daemon = try ScriptedDaemon(withFiles: { request, file in
      [.picture(#"{"id":\#(id(request)),"ok":true,"format":"png"}"#, Array((file ?? "-").utf8))]
    })
    let output = try ScratchDirectory()
    let second = imgctl(["fetch", "-", "-o", output.path], daemon, input: list.joined(separator: "\n"))
    #expect(second.exitCode == .done, "\(second.messages)")
    #expect(output.names == ["a_b.png", "c.gif", "x.png"])
  }

  @Test func `a file that cannot be opened is a failure of its own`() throws {
    let run = imgctl(["fetch", files.file("missing"), files.make("a.png", "there")], try echo())
    #expect(run.output == "there\n" && run.exitCode == .failed)
    let missing = files.file("missing")
    #expect(run.messages == "imgctl: \(missing): open \(missing): No such file or directory\n")
  }

  @Test func `names of directories end with one slash or none, and an empty one is a failure`() throws {
    _ = files.make("a.png")
    #expect(LocalFile.paths(files.path + "/") == [files.file("a.png")])
    let empty = try ScratchDirectory()
    let run = imgctl(["fetch", empty.path], try echo())
    #expect(run.messages == "imgctl: \(empty.path): there are no files in this directory\n" && run.exitCode == .failed)
  }

  @Test(arguments: [[], ["--json"]]) func `files of a directory that are no pictures are passed over`(
    options: [String]
  ) throws {
    _ = (files.make("a.png", "one"), files.make("b.txt", "no"), files.make("c.png", "two"))
    let daemon = try ScriptedDaemon(
      clients: 3,
      withFiles: { request, file in
        let error = #"{"code":"not_an_image","message":"no picture","retryable":false}"#
        let answer = file == "no" ? #""ok":false,"error":\#(error)"# : #""ok":true,"path":"\#(file ?? "-")""#
        return [.line(#"{"id":\#(id(request)),"url":"fd:",\#(answer)}"#)]
      })
    let run = imgctl(["fetch", files.path] + options, daemon)
    #expect(run.exitCode == .done && run.messages.contains("1 file is no picture"), "\(run)")
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == 2)
    if options.isEmpty {
      #expect(lines == ["one", "two"])
    } else {
      #expect(lines.first?.contains(#""input":"\#(files.file("a.png"))""#) == true && !run.output.contains("b.txt"))
    }
    #expect(imgctl(["fetch", files.file("b.txt")] + options, daemon).exitCode == .noPicture, "it was named")
    let texts = try ScratchDirectory()
    _ = texts.make("b.txt", "no")
    #expect(imgctl(["fetch", texts.path] + options, daemon).exitCode == .noPicture)
  }

  @Test func `a line with a NUL is refused`() throws {
    let path = files.make("a.png", "there")
    let run = imgctl(["fetch", "-"], try echo(), input: "\(path)\0\(path)\0\n\(path)\n")
    #expect(run.output == "there\n" && run.exitCode == .badURL)
    #expect(run.messages == "imgctl: a line of standard input has a NUL in it: end each name with a newline\n")
  }

  @Test(arguments: ["http://h/a.png", "a.png", "s3:x", "12:30.png", "-"])
  func `these words are no files`(word: String) { #expect(LocalFile.paths(word) == nil) }

  @Test(arguments: ["/nonexistent/a", "./nonexistent", "../nonexistent", "~/nonexistent"])
  func `these words are files, whether they exist or not`(word: String) {
    #expect(LocalFile.paths(word) == [word])
  }

  @Test func `names of files become names of pictures`() {
    var names = PictureNames()
    let paths = ["/x/a.png", "b/a.gif", "/y/a#1?.png", "/y/100%41.png", "/", "/x/.hidden"]
    #expect(paths.map { names.name(for: $0, isFile: true) } == ["a", "a-2", "a_1_", "100_41", "picture", "_hidden"])
  }

  @Test func `standard input is handed in as memory, and an endless one is not`() throws {
    let daemon = try ScriptedDaemon(withFiles: { request, file in
      #expect(request == #"{"cmd":"put","url":"http://h/a","ttl":60,"tags":["t"],"for":"all"}"#)
      return [.line(#"{"ok":true,"format":"png","width":2,"height":3,"bytes":\#(file?.utf8.count ?? 0)}"#)]
    })
    let options = ["--ttl", "60s", "--tag", "t", "--for-all"]
    let run = imgctl(["put", "http://h/a", "-"] + options, daemon, input: "a picture")
    #expect(run.output == "png 2x3, 9 bytes\n" && run.exitCode == .done, "\(run)")
    let zero = try FileDescriptor(opening: "/dev/zero", O_RDONLY)
    let refused = #expect(throws: SystemFailure.self) {
      _ = try FileDescriptor.copy(of: zero.number, atMost: 100_000, named: "zeros").number
    }
    #expect(refused?.errno == EFBIG)
  }

  @Test func `put names what is missing`() {
    #expect(imgctl(["put", "http://h/a"]).messages == "imgctl: put needs URL FILE\n")
    #expect(imgctl(["put", "a", "b", "c"]).messages == "imgctl: put takes URL FILE: leave out 'c'\n")
    #expect(imgctl(["put", "a", files.file("b")]).exitCode == .failed)
  }

  @Test func `files are offered for a path, and where no URL fits`() {
    for word in ["/t", "./", "nothing"] { #expect(imgctl(["__complete", "thumbnail", word]).output == "\n") }
    #expect(imgctl(["__complete", "purge", "nothing"]).output == "")
  }
}
