import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

struct OutputFileTests {
  private let directory: ScratchDirectory

  init() throws {
    directory = try ScratchDirectory()
  }

  @Test func `a picture is written to the named file`() throws {
    let file = directory.file("x")
    let run = imgctl(["fetch", "http://h/a", "-o", file], try pictureDaemon())
    #expect(run.exitCode == .done)
    #expect(run.output == file + "\n")
    #expect(directory.names == ["x"])
    #expect(directory.summary("x") == "300000 0")
  }

  @Test func `a file that exists is refused before anything is asked for`() throws {
    let file = directory.make("x")
    let daemon = try ScriptedDaemon { request in
      Issue.record("asked for: \(request)")
      return []
    }
    let run = imgctl(["fetch", "u", "-o", file], daemon)
    #expect(run.exitCode == .fileExists && run.output == "")
    #expect(
      run.messages
        == "imgctl: u: \(file) exists: write --force to replace it, or --no-clobber to keep it\n")
    #expect(directory.summary("x") == "3 ?")
  }

  @Test func `a file that is kept is no failure`() throws {
    let file = directory.make("x")
    let run = imgctl(["fetch", "u", "-o", file, "-n", "--json"], try pictureDaemon())
    #expect(run.exitCode == .done && run.messages == "")
    #expect(run.output == #"{"ok":true,"url":"u","file":"\#(file)","skipped":true}"# + "\n")
    #expect(directory.summary("x") == "3 ?")
  }

  @Test func `a link to nothing is refused, too`() throws {
    #expect(symlink(directory.file("nothing"), directory.file("x")) == 0)
    let run = imgctl(["fetch", "u", "-o", directory.file("x")], try pictureDaemon())
    #expect(run.exitCode == .fileExists)
    #expect(directory.names == ["x"])
  }

  @Test func `a file in a directory is refused or kept, and the others are written`() throws {
    let old = directory.make("a.png")
    let refused = imgctl(
      ["fetch", "http://h/a", "http://h/b", "-o", directory.path], try pictureDaemon())
    #expect(refused.exitCode == .fileExists)
    #expect(refused.output == directory.file("b.png") + "\n")
    #expect(refused.messages.contains("http://h/a: \(old) exists: "))
    let kept = imgctl(
      ["fetch", "http://h/a", "http://h/c", "-n", "-o", directory.path], try pictureDaemon())
    #expect(kept.exitCode == .done && kept.messages == "")
    #expect(directory.summary("a.png") == "3 ?")
    #expect(directory.names == ["a.png", "b.png", "c.png"])
  }

  @Test func `a replaced file keeps its mode`() throws {
    for mode in [mode_t(0o600), 0o640, 0o666, 0o755] {
      let file = directory.make("x", mode: mode)
      let run = imgctl(["fetch", "u", "-o", file, "--force"], try pictureDaemon())
      #expect(run.exitCode == .done, "\(run.messages)")
      #expect(directory.mode("x") == mode)
      #expect(directory.summary("x") == "300000 0")
    }
    #expect(directory.names == ["x"])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func `a replaced file keeps its owner`() throws {
    let file = directory.make("x", mode: 0o4755)
    #expect(chown(file, 65534, 65533) == 0)
    chmod(file, 0o4755)
    #expect(imgctl(["fetch", "u", "-o", file, "-f"], try pictureDaemon()).exitCode == .done)
    var status = stat()
    #expect(stat(file, &status) == 0)
    #expect(status.st_uid == 65534 && status.st_gid == 65533)
    #expect(status.st_mode & 0o7777 == 0o4755)
  }

  @Test(arguments: [true, false])
  func `a link stays, and its target is replaced`(isRelative: Bool) throws {
    let elsewhere = try ScratchDirectory()
    let target = isRelative ? directory.make("target", mode: 0o600) : elsewhere.make("target")
    #expect(symlink(isRelative ? "target" : target, directory.file("y")) == 0)
    #expect(symlink("y", directory.file("x")) == 0)
    let run = imgctl(["fetch", "u", "-o", directory.file("x"), "-f"], try pictureDaemon())
    #expect(run.exitCode == .done, "\(run.messages)")
    #expect(directory.isLink("x") && directory.isLink("y"))
    #expect(directory.summary("x") == "300000 0")
    #expect((isRelative ? directory : elsewhere).summary("target") == "300000 0")
    #expect((isRelative ? directory : elsewhere).names.filter { $0.hasPrefix(".") } == [])
  }

  @Test func `the target of a link to nothing is made`() throws {
    #expect(symlink("nothing", directory.file("x")) == 0)
    let run = imgctl(["fetch", "u", "-o", directory.file("x"), "-f"], try pictureDaemon())
    #expect(run.exitCode == .done)
    #expect(directory.isLink("x") && directory.summary("nothing") == "300000 0")
  }

  @Test func `a link to itself is an error`() throws {
    #expect(symlink("x", directory.file("x")) == 0)
    let run = imgctl(["fetch", "u", "-o", directory.file("x"), "-f"], try pictureDaemon())
    #expect(run.exitCode == .failed && run.messages.contains("Too many levels of symbolic links"))
  }

  /// The name is free when the fetch begins, and taken when it ends.
  @Test func `a file that appears meanwhile is not replaced`() throws {
    let file = directory.file("x")
    let daemon = try ScriptedDaemon { [path = directory.path] request in
      close(open(path + "/x", O_CREAT | O_WRONLY, 0o644))
      return [.picture(#"{"id":0,"ok":true,"format":"png","fds":[{}]}"#, [1, 2, 3])]
    }
    let run = imgctl(["fetch", "u", "-o", file], daemon)
    #expect(run.exitCode == .fileExists)
    #expect(directory.names == ["x"] && directory.summary("x") == "empty")
  }

  @Test func `pictures in a directory have names of their own`() throws {
    let run = imgctl(
      ["fetch", "http://h/a.jpg", "http://g/a.gif?x", "http://h/%2e%2e%2fb", "-o", directory.path],
      try pictureDaemon(format: "jpeg"))
    #expect(run.exitCode == .done)
    #expect(directory.names == ["_._b.jpg", "a-2.jpg", "a.jpg"])
    for (name, digit) in [("a.jpg", "0"), ("a-2.jpg", "1"), ("_._b.jpg", "2")] {
      #expect(directory.summary(name) == "300000 \(digit)")
    }
  }

  @Test func `pictures are written to standard output in the order asked`() throws {
    let run = imgctl(["fetch", "u", "-o", "-"], try pictureDaemon())
    #expect(summary(Array(run.output.utf8)) == "300000 0")
    let waiting = Locked<[ScriptedDaemon.Answer]>([])
    let daemon = try ScriptedDaemon { request in
      let line = #"{"id":\#(id(request)),"ok":true,"format":"png","fds":[{}]}"#
      return waiting.withLock { answers in
        answers.append(.picture(line, Array(id(request).utf8)))
        return answers.count == 3 ? answers.reversed() : []
      }
    }
    #expect(imgctl(["cat", "u", "v", "w"], daemon).output == "012")
  }

  @Test(arguments: [["fetch", "u", "-o", "-"], ["cat", "u"], ["fetch", "u", "--as", "pixels"]])
  func `a terminal is not sent a picture`(arguments: [String]) throws {
    let run = imgctl(arguments, try pictureDaemon(), onTerminal: true)
    #expect(run.exitCode == .wrongUsage && run.output == "")
    #expect(run.messages.hasPrefix("imgctl: standard output is a terminal: "))
  }

  @Test func `several pictures are refused for a target that takes one`() throws {
    let daemon = try pictureDaemon()
    let run = imgctl(["fetch", "u", "v", "-o", "/nonexistent/file"], daemon)
    #expect(run.exitCode == .wrongUsage)
    #expect(
      run.messages
        == "imgctl: -o /nonexistent/file takes one picture: for 2 URLs name a directory: /nonexistent/file/\n"
    )
    let list = imgctl(["fetch", "-", "-o", "/nonexistent/x"], daemon, input: "u\nv\n")
    #expect(list.exitCode == .wrongUsage && list.messages.contains("for several URLs"))
  }

  @Test(arguments: [
    ("/nonexistent/file", "No such file or directory"), ("/sys/file", "Permission denied"),
  ])
  func `a file that cannot be written is named`(file: String, reason: String) throws {
    let run = imgctl(["fetch", "u", "-o", file, "--json"], try pictureDaemon())
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: u: create \(file): \(reason)\n")
    #expect(run.output.contains(#""ok":false"#) && run.output.contains(#""code":"not_written""#))
  }

  @Test func `nothing is left of a file that cannot be written`() throws {
    let file = directory.file(String(repeating: "x", count: 256))
    let run = imgctl(["fetch", "u", "-o", file], try pictureDaemon())
    #expect(run.exitCode == .failed)
    #expect(directory.names == [])
  }

  @Test func `a full device is an error`() throws {
    let run = imgctl(["fetch", "u", "-o", "/dev/full"], try pictureDaemon())
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: u: write /dev/full: No space left on device\n")
  }

  @Test func `an answer without its picture fails`() throws {
    let daemon = try ScriptedDaemon { [.line(#"{"id":\#(id($0)),"ok":true,"format":"png"}"#)] }
    let run = imgctl(["fetch", "u", "-o", "/nonexistent/file"], daemon)
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: u: the daemon sent no picture with its answer\n")
  }
}
