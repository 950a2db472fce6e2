import ImgdConnection
import Testing

@testable import ImgctlCommands

struct MonitorTests {
  private func daemon(_ events: String...) throws -> ScriptedDaemon {
    try ScriptedDaemon { request in
      #expect(request.hasPrefix(#"{"cmd":"subscribe","events":["#))
      let answer = #"{"ok":true,"events":[],"snapshot":{"downloads":{"active":1,"queued":2}}}"#
      return ([answer] + events).map { .line($0) } + [.close]
    }
  }

  private static let events = [
    (
      #"{"event":"job","state":"done","url":"http://h/\u001b","receipt":"r"}"#,
      "job       done       http://h/\\x1b"
    ),
    (
      #"{"event":"job","state":"done","url":"http://h/","source":"network"}"#,
      "job       done       http://h/  network"
    ),
    (
      #"{"event":"job","state":"failed","url":"http://h/","code":"http_status","status":404}"#,
      "job       failed     http://h/  http_status 404"
    ),
    (
      #"{"event":"cache","what":"stored","tier":"disk","entries":1,"bytes":2048,"url":"http://h/"}"#,
      "cache     stored     disk: 1 entry, 2.0K  http://h/"
    ),
    (
      #"{"event":"cache","what":"stored","tier":"memory","entries":1,"bytes":2048}"#,
      "cache     stored     memory: 1 entry, 2.0K"
    ),
    (
      #"{"event":"cache","what":"removed_all","tier":"disk","entries":3,"bytes":0}"#,
      "cache     emptied    disk: 3 entries, 0 bytes"
    ),
    (
      #"{"event":"cache","what":"marked","tier":"memory","entries":0,"bytes":0}"#,
      "cache     marked     memory: 0 entries, 0 bytes"
    ),
    (
      #"{"event":"pressure","source":"cgroup","removed_entries":2,"removed_bytes":1024}"#,
      "pressure  removed    2 entries, 1.0K, because of cgroup"
    ),
    (#"{"event":"config","what":"refused"}"#, "config    refused"),
    (
      #"{"event":"overflow","lost":7}"#,
      "overflow  lost       7 events came faster than they were read"
    ),
    (#"{"event":"later","news":1}"#, #"later                {"event":"later","news":1}"#),
  ]

  @Test(arguments: events)
  func `an event is a line`(event: String, line: String) throws {
    let run = imgctl(["monitor"], try daemon(event))
    #expect(run.output.dropFirst(10) == line + "\n")
    #expect(run.output.prefix(9).split(separator: ":").count == 3)
  }

  @Test func `the end of the daemon is told`() throws {
    let daemon = try daemon()
    let run = imgctl(["monitor", "jobs"], daemon)
    #expect(run.exitCode == .unreachable)
    #expect(
      run.messages == """
        connected to \(daemon.path); downloads: 1 running, 2 waiting
        imgctl: imgd at \(daemon.path) has ended

        """)
  }

  @Test func `JSON is everything that the daemon says, unchanged`() throws {
    let event = #"{"event":"job" , "state":"done"}"#
    let run = imgctl(["monitor", "--json", "--quiet"], try daemon(event))
    #expect(run.output.hasSuffix("}}}\n" + event + "\n"))
    #expect(!run.messages.contains("connected"))
  }

  @Test func `topics are asked for in the protocol's order, each once`() throws {
    let daemon = try ScriptedDaemon { request in
      #expect(request == #"{"cmd":"subscribe","events":["jobs","config"]}"#)
      return [.close]
    }
    _ = imgctl(["monitor", "config", "jobs", "config"], daemon)
  }

  @Test(arguments: [("job", "did you mean jobs?"), ("x", "write jobs, cache, pressure or config")])
  func `an unknown topic is refused`(topic: String, hint: String) {
    let run = imgctl(["monitor", topic])
    #expect(run.exitCode == .wrongUsage)
    #expect(run.messages == "imgctl: monitor \(topic) is not valid: \(hint)\n")
  }

  @Test func `states are coloured`() throws {
    let run = imgctl(
      ["monitor", "--color", "always"], try daemon(#"{"event":"job","state":"failed","url":"u"}"#))
    #expect(run.output.contains("\u{1b}[31mfailed   \u{1b}[0m  u\n"))
  }
}
