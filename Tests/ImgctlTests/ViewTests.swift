import Testing

@testable import ImgctlCommands

/// Commands that show one answer of the daemon.
struct ViewTests {
  // MARK: list

  @Test func `fetches are rows with human numbers`() throws {
    let daemon = try ScriptedDaemon { _ in
      [
        .line(
          #"{"ok":true,"jobs":[{"receipt":"r","url":"http://h/\u001b[2J","state":"running","priority":"low","#
            + #""received":512,"expected":2048,"waiters":2,"age_ms":61000},{"receipt":"s","url":"u","#
            + #""state":"queued","priority":"high","received":0,"expected":null,"waiters":1,"age_ms":5}],"cursor":null}"#
        )
      ]
    }
    #expect(
      imgctl(["list"], daemon).output == """
        RECEIPT  STATE    PRIORITY  BYTES   DONE  WAITERS      AGE  URL
        r        running  low        512B  25.0%        2  1min 1s  http://h/\\x1b[2J
        s        queued   high         0B      -        1      5ms  u

        """)
  }

  @Test func `an empty list is a remark`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true,"jobs":[],"cursor":null}"#)] }
    let run = imgctl(["list"], daemon)
    #expect(run.output == "" && run.messages == "no fetch is under way\n" && run.exitCode == .done)
  }

  // MARK: query

  @Test func `a query shows the facts of an entry`() throws {
    let daemon = try ScriptedDaemon { request in
      #expect(request == #"{"cmd":"query","url":"u","identifier":"i","describe":true}"#)
      return [
        .line(
          #"{"ok":true,"tier":"disk","url":"u","format":"png","bytes":2048,"age":61,"fresh_for":0,"tags":["a","b c"]}"#
        )
      ]
    }
    let run = imgctl(["query", "u", "--identifier", "i", "--describe"], daemon)
    #expect(
      run.output == """
        u
          tier       disk
          format     png
          bytes      2048 (2.0K)
          age        1min 1s
          fresh_for  0s
          tags       a, b c

        """)
  }

  @Test func `a query shows the answers that depend on headers`() throws {
    let daemon = try ScriptedDaemon { _ in
      [
        .line(
          #"{"ok":true,"tier":"none","url":"u","variants":[{"vary":{"accept":"a/\u001b","dnt":null},"#
            + #""stored":"2026-11-23T00:16:19Z","tiers":["memory","disk"]}]}"#)
      ]
    }
    let run = imgctl(["query", "u"], daemon)
    #expect(
      run.output == """
        u
          tier     none
          variant  accept=a/\\x1b dnt=- (memory, disk, 2026-11-23T00:16:19Z)

        """)
    #expect(run.exitCode == .notCached)
  }

  @Test func `a picture that is not cached sets the exit code`() throws {
    let daemon = try ScriptedDaemon { _ in [.line(#"{"ok":true,"tier":"none"}"#)] }
    let run = imgctl(["query", "http://h/a"], daemon)
    #expect(run.output == "http://h/a: not in the cache\n" && run.exitCode == .notCached)
  }

  // MARK: entries

  /// Three pages of two entries, or as many as were asked for.
  private func cache() throws -> ScriptedDaemon {
    try ScriptedDaemon { request in
      let page =
        request.contains("cursor")
        ? Int(request.split(separator: #"cursor":"c"#)[1].prefix(1)) ?? 9 : 0
      let entries = (0..<2).map { number in
        #"{"url":"http://h/\#(page)\#(number)","identifier":null,"format":"webp","width":64,"height":48,"bytes":2048,"#
          + #""age":5,"fresh_for":0,"stored":"2026-11-23T00:16:19Z","tags":["t"]}"#
      }
      let cursor = page < 2 ? #""c\#(page + 1)""# : "null"
      return [
        .line(#"{"ok":true,"entries":[\#(entries.joined(separator: ","))],"cursor":\#(cursor)}"#)
      ]
    }
  }

  @Test func `all pages of entries are one table`() throws {
    let lines = imgctl(["entries"], try cache()).output.split(separator: "\n")
    #expect(lines.count == 7)
    #expect(lines[0] == "   BYTES  TYPE       SIZE        AGE      FRESH  URL")
    #expect(lines[6] == "    2.0K  webp      64x48         5s      stale  http://h/21")
  }

  @Test(arguments: [1, 2, 3, 6, 7])
  func `a limit holds over pages`(limit: Int) throws {
    let run = imgctl(
      ["entries", "--json", "-n", "\(limit)", "--tier", "disk", "--prefix", "http"], try cache())
    let lines = run.output.split(separator: "\n")
    #expect(lines.count == min(limit, 6))
    #expect(lines.allSatisfy { $0.hasPrefix(#"{"url":"http://h/"#) })
  }

  @Test func `the long form has what the short one leaves out`() throws {
    let lines = imgctl(["entries", "-l", "-n", "1"], try cache()).output.split(separator: "\n")
    #expect(lines[1].hasSuffix("2026-11-23T00:16:19Z  -           t           http://h/00"))
  }

  // MARK: config

  private func configured() throws -> ScriptedDaemon {
    try ScriptedDaemon { _ in
      [
        .line(
          #"{"ok":true,"config":{"Memory":{"Capacity":"100M","MaxEntry":"25%"},"Disk":{"Capacity":"a\u001bb"}}}"#
        )
      ]
    }
  }

  @Test(arguments: [
    ([], "[Memory]\nCapacity=100M\nMaxEntry=25%\n\n[Disk]\nCapacity=a\\x1bb\n"),
    (["disk"], "[Disk]\nCapacity=a\\x1bb\n"), (["memory.capacity"], "100M\n"),
    (["Memory.MaxEntry", "--json"], "\"25%\"\n"),
    (["Disk", "--json"], "{\"Capacity\":\"a\\u001bb\"}\n"),
  ])
  func `the configuration is shown whole or in part`(arguments: [String], output: String) throws {
    #expect(imgctl(["config"] + arguments, try configured()).output == output)
  }

  @Test(arguments: [
    ("Capacity", "did you mean Memory.Capacity or Disk.Capacity?"),
    ("Memry", "did you mean Memory?"),
    ("Memory.MaxEntri", "did you mean Memory.MaxEntry?"), ("x", "the sections are Memory, Disk"),
    ("Memory.", "did you mean Memory?"),
  ])
  func `an unknown name meets those that are near`(name: String, hint: String) throws {
    let run = imgctl(["config", name], try configured())
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: the configuration has no '\(name)': \(hint)\n")
  }
}
