import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// How many pictures are asked for, when, and over which connection.
struct FetchRunTests {
  private func list(_ count: Int) throws -> (directory: ScratchDirectory, path: String) {
    let directory = try ScratchDirectory()
    let text = (0..<count).map { "http://h/\($0)\n" }.joined()
    return (directory, directory.make("list", text))
  }

  private static func success(_ request: String) -> ScriptedDaemon.Answer {
    .line(#"{"id":\#(id(request)),"ok":true,"path":"/\#(id(request))"}"#)
  }

  /// The first is answered when no more are asked for: a run that asked for all of them would see its end.
  @Test func `no more come early than can wait`() throws {
    let asked = Locked(0)
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0 += 1 }
      if id(request) == "0" { return [] }
      if id(request) == "1023" { return [Self.success(request), Self.success("{\"id\":0")] }
      return [Self.success(request)]
    }
    let (directory, path) = try list(3000)
    let run = imgctl(["fetch", "-i", path], daemon)
    #expect(run.output == (0..<3000).map { "/\($0)\n" }.joined())
    #expect(asked.withLock { $0 } == 3000)
    withExtendedLifetime(directory) {}
  }

  /// The second line is written when the first has been asked for.
  @Test func `a list is read as it arrives`() throws {
    var ends: [CInt] = [-1, -1]
    #expect(pipe(&ends) == 0)
    let (input, typing) = (ends[0], ends[1])
    write(typing, "http://h/0\n# a co", 17)
    let daemon = try ScriptedDaemon { request in
      if id(request) == "0" { write(typing, "mment\n\n  http://h/1 \r\nhttp://h/2", 32) }
      if id(request) == "1" { close(typing) }
      return [Self.success(request)]
    }
    let run = imgctl(["fetch", "-", "-l"], daemon, from: input)
    #expect(run.output == "/0\thttp://h/0\n/1\thttp://h/1\n/2\thttp://h/2\n")
    #expect(run.exitCode == .done, "\(run.messages)")
    close(input)
  }

  @Test func `arguments and lists are fetched together`() throws {
    let (directory, path) = try list(2)
    let daemon = try ScriptedDaemon { [Self.success($0)] }
    let run = imgctl(["fetch", "a", "-", "b", "-i", path, "-l"], daemon, input: "c\nd")
    let subjects = run.output.split(separator: "\n").map { $0.split(separator: "\t")[1] }
    #expect(subjects == ["a", "c", "d", "b", "http://h/0", "http://h/1"])
    withExtendedLifetime(directory) {}
  }

  @Test func `a list that is missing is an error`() throws {
    let run = imgctl(["fetch", "-i", "/nonexistent/list"], try ScriptedDaemon { _ in [] })
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: open /nonexistent/list: No such file or directory\n")
  }

  @Test func `an empty list is no error`() throws {
    let run = imgctl(["fetch", "-"], try ScriptedDaemon { _ in [] }, input: "# none\n")
    #expect(run.exitCode == .done && run.output == "" && run.messages == "")
  }

  @Test func `a line that cannot be a URL is passed over`() throws {
    let directory = try ScratchDirectory()
    let text = "a\n" + String(repeating: "x", count: 70_000) + "\nb\n"
    let daemon = try ScriptedDaemon { [Self.success($0)] }
    let run = imgctl(["fetch", "-i", directory.make("list", text)], daemon)
    #expect(run.output == "/0\n/1\n" && run.exitCode == .badURL)
    #expect(run.messages.contains("is longer than 65536 bytes: it is no URL"))
  }

  @Test func `a request that is too long is not sent`() throws {
    let daemon = try ScriptedDaemon { [Self.success($0)] }
    let long = String(repeating: "x", count: 70_000)
    let run = imgctl(["fetch", "a", long, "b"], daemon)
    #expect(run.output == "/0\n/2\n" && run.exitCode == .badURL)
  }

  /// The first daemon answers one of three and goes; the second is asked for the others.
  @Test(arguments: [false, true])
  func `a daemon that is started again is asked again`(saysSo: Bool) throws {
    let asked = Locked<[String]>([])
    let daemon = try ScriptedDaemon(clients: 2) { request in
      let count = asked.withLock { asked in
        asked.append(id(request))
        return asked.count
      }
      let stop = ScriptedDaemon.Answer.line(
        #"{"ok":false,"error":{"code":"shutting_down","message":"m"}}"#)
      switch count {
      case 1, 2: return []
      case 3: return [Self.success("{\"id\":1")] + (saysSo ? [stop, .close] : [.close])
      default: return [Self.success(request)]
      }
    }
    let run = imgctl(["fetch", "a", "b", "c"], daemon)
    #expect(run.output == "/0\n/1\n/2\n")
    #expect(run.messages == "")
    #expect(asked.withLock { $0 } == ["0", "1", "2", "0", "2"])
  }

  @Test func `a daemon that stays away is given up, and what it answered is printed`() throws {
    let daemon = try ScriptedDaemon { request in
      id(request) == "2" ? [Self.success(request), .close] : []
    }
    let run = imgctl(["fetch", "a", "b", "c"], daemon)
    #expect(run.exitCode == .unreachable && run.output == "/2\n")
    #expect(
      run.messages == """
        imgd at \(daemon.path) is gone; waiting for it to start again
        imgctl: imgd at \(daemon.path) closed the connection before it answered; 2 URLs are left

        """)
  }
}
