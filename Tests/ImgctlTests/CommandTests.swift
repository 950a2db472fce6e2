@testable import ImgdSystem
import Testing

@testable import ImgctlCommands

private func picture(_ request: String) -> ScriptedDaemon.Answer {
  .line(
    #"{"id":\#(id(request)),"ok":true,"path":"/c/\#(id(request))","format":"jpeg","width":640,"height":480,"#
      + #""bytes":48211,"source":"network"}"#)
}

private func failure(_ request: String, _ code: String) -> ScriptedDaemon.Answer {
  .line(
    #"{"id":\#(id(request)),"ok":false,"error":{"code":"\#(code)","message":"it did not work"}}"#)
}

struct CommandTests {
  @Test func `a picture of which only the facts are wanted is described`() throws {
    let daemon = try ScriptedDaemon { [picture($0)] }
    let run = imgctl(["fetch", "http://h/a", "--as", "none"], daemon)
    #expect(run.output == "http://h/a: jpeg 640x480 48211 bytes (network)\n")
    #expect(run.messages == "")
    #expect(run.exitCode == .done)
  }

  @Test func `a picture in a file is its path`() throws {
    let daemon = try ScriptedDaemon { [.line(#"{"id":\#(id($0)),"ok":true,"path":"/c/a.jpg"}"#)] }
    #expect(imgctl(["fetch", "http://h/a"], daemon).output == "/c/a.jpg\n")
  }

  @Test func `the request contains the arguments`() throws {
    let echo = try ScriptedDaemon { request in
      #expect(
        request == #"{"cmd":"fetch","id":0,"url":"http://h/\"","progress":true,"events":true,"#
          + #""cache":"reload","#
          + #""identifier":"i","priority":"low","timeout_ms":60000,"max_bytes":1024,"tags":["t"],"#
          + #""headers":{"A":"b"}}"#)
      return [picture(request)]
    }
    let arguments = [
      "fetch", "http://h/\"", "--json", "--cache", "reload", "--identifier", "i", "--priority",
      "low", "--tag", "t", "--timeout", "60s", "--max-bytes", "1K", "--header", "A: b",
      "--progress",
    ]
    #expect(imgctl(arguments, echo).exitCode == .done)
  }

  @Test(arguments: [
    (["blocked_address"], ExitCode.blocked), (["not_an_image"], .noPicture),
    (["timeout", "timeout"], .timedOut), (["timeout", "tls"], .failed),
    (["", "timeout"], .timedOut),
    (["", ""], .done),
  ])
  func `each failure sets the exit code`(codes: [String], exitCode: ExitCode) throws {
    let daemon = try ScriptedDaemon { request in
      let code = codes[Int(id(request)) ?? 0]
      return [code.isEmpty ? picture(request) : failure(request, code)]
    }
    let urls = codes.indices.map { "http://h/\($0)" }
    let run = imgctl(["fetch"] + urls, daemon)
    #expect(run.exitCode == exitCode)
    for (url, code) in zip(urls, codes) where !code.isEmpty {
      #expect(run.messages.contains("imgctl: \(url): it did not work (\(code))\n"))
    }
  }

  /// Also before it has read the request: the line has no id then.
  @Test func `a reload that meets a stop has not failed`() throws {
    let daemon = try ScriptedDaemon { _ in
      [.line(#"{"ok":false,"error":{"code":"shutting_down","message":"imgd stops"}}"#), .close]
    }
    let run = imgctl(["reload"], daemon)
    #expect(run.exitCode == .done && run.output.hasPrefix("imgd is stopping"))
    #expect(run.messages == "")
  }

  @Test(arguments: ["reload", "ping"])
  func `another refusal of a command has failed`(verb: String) throws {
    let code = verb == "reload" ? "forbidden" : "shutting_down"
    let refusal = #"{"ok":false,"error":{"code":"\#(code)","message":"it did not work"}}"#
    let run = imgctl([verb], try ScriptedDaemon { _ in [.line(refusal)] })
    #expect(run.exitCode != .done && run.messages.contains("(\(code))"))
  }

  @Test func `many URLs from input use one connection`() throws {
    let waiting = Locked<[String]>([])
    let daemon = try ScriptedDaemon { request in
      waiting.withLock { requests in
        requests.append(request)
        // Answers come when as many requests have come as may be open at once, and backwards.
        guard requests.count == 256 || id(request) == "599" else { return [] }
        defer { requests = [] }
        return requests.reversed().map(picture)
      }
    }
    let urls = (0..<600).map { "http://h/\($0)" }
    let run = imgctl(
      ["fetch", "-", "--as", "none", "--timeout", "60s"], daemon,
      input: "# a list\n\n" + urls.joined(separator: " \r\n\t"))
    #expect(run.exitCode == .done)
    let lines = run.output.split(separator: "\n").map { $0.prefix { $0 != " " } }
    #expect(lines == urls.map { Substring($0 + ":") })
  }

  @Test func `a failure that may pass has an exit code of its own`() throws {
    let daemon = try ScriptedDaemon { request in
      [.line(#"{"id":0,"ok":false,"error":{"code":"dns","message":"m","retryable":true}}"#)]
    }
    #expect(imgctl(["fetch", "u"], daemon).exitCode == .tryLater)
  }

  @Test func `a missing daemon is reported with the reason`() {
    let run = imgctl(["ping"])
    #expect(
      run.messages
        == "imgctl: there is no socket /nonexistent/s: imgd is not running, or listens on another path\n"
    )
    #expect(run.exitCode == .unreachable)
    #expect(imgctl(["fetch", "u"]).exitCode == .unreachable)
  }

  @Test func `a daemon that closes the connection is noticed`() throws {
    let daemon = try ScriptedDaemon { id($0) == "0" ? [picture($0)] : [.close] }
    let run = imgctl(["fetch", "http://h/a", "http://h/b"], daemon)
    #expect(run.exitCode == .unreachable)
    #expect(run.output == "/c/0\n")
    #expect(run.messages.hasSuffix("closed the connection before it answered; 1 URL is left\n"))
  }

  @Test func `a refused connection is reported with the reason`() throws {
    let refusal = #"{"ok":false,"error":{"code":"too_many_requests","message":"1024 clients"}}"#
    let daemon = try ScriptedDaemon { _ in [.line(refusal), .close] }
    let run = imgctl(["fetch", "u"], daemon)
    #expect(run.messages == "imgctl: 1024 clients (too_many_requests)\n")
    #expect(run.exitCode == .failed)
  }

  @Test func `a server that is not imgd is recognised`() throws {
    let daemon = try ScriptedDaemon { _ in [.line("-ERR unknown command")] }
    let run = imgctl(["ping"], daemon)
    #expect(run.messages.contains("is not imgd: its answer is not JSON at byte 1"))
    #expect(run.exitCode == .unreachable)
  }

  @Test func `text from the daemon contains no terminal commands`() throws {
    let daemon = try ScriptedDaemon { _ in
      [.line(#"{"id":0,"ok":false,"error":{"code":"dns","message":"\u001b[2J\n"}}"#)]
    }
    #expect(
      imgctl(["fetch", "u\u{7}"], daemon).messages == #"imgctl: u\x07: \x1b[2J\x0a (dns)"# + "\n")
  }

  @Test func `wrong usage is explained in one sentence`() {
    let run = imgctl(["fecth"])
    #expect(run.messages == "imgctl: unknown command 'fecth': did you mean fetch?\n")
    #expect(run.output == "")
    #expect(run.exitCode == .wrongUsage)
    #expect(imgctl(["--version"]).output == "imgctl \(Release.version)\n")
    #expect(imgctl(["--help"]).output.hasPrefix("Usage: imgctl"))
  }

  @Test func `list shows all pages of a long list`() throws {
    let daemon = try ScriptedDaemon { line in
      guard line != #"{"cmd":"list"}"# else {
        return [.line(#"{"ok":true,"jobs":[{"receipt":"A","url":"u"}],"cursor":"7"}"#)]
      }
      #expect(line == #"{"cmd":"list","cursor":"7"}"#)
      return [.line(#"{"ok":true,"jobs":[{"receipt":"B","url":"v"}],"cursor":null}"#)]
    }
    let run = imgctl(["list"], daemon)
    #expect(run.output.split(separator: "\n").map { $0.prefix(1) } == ["R", "A", "B"])
  }

  @Test func `list tells how long a host is left alone`() throws {
    let job = #"{"receipt":"A","state":"queued","held":"asked","wait_ms":13500,"url":"u"}"#
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true,"jobs":[\#(job)],"cursor":null}"#)] }
    #expect(imgctl(["list"], daemon).output.contains("A        queued, asked to wait, 14s left  "))
  }

  @Test(
    arguments: [
      (
        ["cancel", "5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"],
        #"{"cmd":"cancel","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#,
        #""state":"running""#, "running\n"
      ),
      (["cancel", "--all"], #"{"cmd":"cancel","all":true}"#, #""cancelled":3"#, "cancelled 3\n"),
      (["cancel", "--tag=t"], #"{"cmd":"cancel","tag":"t"}"#, #""cancelled":0"#, "cancelled 0\n"),
      (
        ["purge", "--host", "h", "--older-than", "1500ms", "--expired"],
        #"{"cmd":"purge","host":"h","older_than":2,"expired":true}"#,
        #""memory":{"entries":1,"bytes":2048},"disk":{"entries":0,"bytes":0}"#,
        "removed from memory: 1 entry, 2.0K; disk: 0 entries, 0 bytes\n"
      ),
      (
        ["purge", "--all", "--soft"], #"{"cmd":"purge","soft":true}"#,
        #""memory":{"entries":12,"bytes":15728640}"#,
        "marked as stale in memory: 12 entries, 15M\n"
      ),
      (
        ["purge", "http://h/a"], #"{"cmd":"purge","url":"http://h/a"}"#,
        #""memory":{"entries":2,"bytes":0}"#, "removed from memory: 2 entries, 0 bytes\n"
      ),
      (["stats", "--json"], #"{"cmd":"stats"}"#, #""memory":{}"#, "{\"ok\":true,\"memory\":{}}\n"),
    ] as [([String], String, String, String)])
  func `each command sends its request and prints the answer`(
    arguments: [String], request: String, answer: String, output: String
  ) throws {
    let daemon = try ScriptedDaemon { line in
      #expect(line == request)
      return [.line("{\"event\":\"job\"}"), .line("{\"ok\":true,\(answer)}")]
    }
    let run = imgctl(arguments, daemon)
    #expect(run.output == output)
    #expect(run.exitCode == .done)
    #expect(run.messages == "")
  }

  @Test func `an unknown receipt is a failure`() throws {
    let daemon = try ScriptedDaemon { _ in
      [.line(#"{"ok":true,"receipt":"R","state":"unknown"}"#)]
    }
    let run = imgctl(["cancel", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"], daemon)
    #expect(run.exitCode == .failed && run.output == "")
    #expect(
      run.messages == "imgctl: no fetch has the receipt R, or it ended some time ago\n")
  }

  @Test func `a repeated filter is a purge for each of its values`() throws {
    let daemon = try ScriptedDaemon { request in
      let host = request.contains(#""host":"a""#) ? 1 : 2
      #expect(request.contains(#""tag":"t""#))
      return [.line(#"{"ok":true,"memory":{"entries":\#(host),"bytes":0}}"#)]
    }
    let run = imgctl(["purge", "--host", "a", "--tag", "t", "--host", "b"], daemon)
    #expect(
      run.output == """
        a: removed from memory: 1 entry, 0 bytes
        b: removed from memory: 2 entries, 0 bytes

        """)
  }

  @Test func `a URL is one however it is given`() throws {
    let asked = Locked<[String]>([])
    let daemon = try ScriptedDaemon { request in
      asked.withLock { $0.append(request) }
      return [.line(#"{"ok":true,"memory":{"entries":1,"bytes":0}}"#)]
    }
    let run = imgctl(["purge", "http://h/a", "--url", "http://h/b"], daemon)
    #expect(run.exitCode == .done, "\(run.messages)")
    #expect(
      asked.withLock { $0 } == [
        #"{"cmd":"purge","url":"http://h/b"}"#, #"{"cmd":"purge","url":"http://h/a"}"#,
      ])
  }

  @Test(arguments: [("y\n", true), ("n\n", false), ("\n", false), ("", false)])
  func `everything is removed when a person says so`(answer: String, isRemoved: Bool) throws {
    let daemon = try ScriptedDaemon { _ in
      #expect(isRemoved)
      return [.line(#"{"ok":true,"memory":{"entries":1,"bytes":0}}"#)]
    }
    let run = imgctl(["purge", "--all"], daemon, input: answer, onTerminal: true)
    #expect(run.messages == "Remove every picture from the cache of imgd at \(daemon.path)? [y/N] ")
    #expect((run.exitCode == .done) == isRemoved && run.output.isEmpty != isRemoved)
  }

  @Test func `nobody is asked without a terminal or with the consent given`() throws {
    let answer = ScriptedDaemon.Answer.line(#"{"ok":true,"memory":{"entries":1,"bytes":0}}"#)
    for (arguments, onTerminal) in [(["--all", "-y"], true), (["--all"], false)] {
      let daemon = try ScriptedDaemon { _ in [answer] }
      let run = imgctl(["purge"] + arguments, daemon, onTerminal: onTerminal)
      #expect(run.exitCode == .done && run.messages == "")
    }
  }

  @Test func `what goes over the connection is shown when asked for`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true}"#)] }
    let run = imgctl(["ping", "--verbose"], daemon)
    #expect(
      run.messages == """
        connected to \(daemon.path)
        > {"cmd":"ping"}
        < {"ok":true}

        """)
  }

  @Test func `a refused command fails`() throws {
    let refusal = #"{"ok":false,"error":{"code":"forbidden","message":"not yours"}}"#
    let daemon = try ScriptedDaemon { _ in [.line(refusal)] }
    let run = imgctl(["cancel", "--all"], daemon)
    #expect(run.messages == "imgctl: not yours (forbidden)\n")
    #expect(run.exitCode == .notPermitted)
  }

  @Test func `a ping is timed`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true}"#)] }
    #expect(imgctl(["ping"], daemon).output.hasPrefix("imgd at \(daemon.path) answered after "))
  }
}
