import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// The rights of another user; only root can become one.
@Suite(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0))
struct ForeignUserTests {
  static let one = "11111111-1111-4111-8111-111111111111"

  /// Sends lines as nobody and answers what came back.
  private func askAsNobody(_ lines: String, _ stage: Stage) throws -> [JSONValue] {
    try runAsNobody(#"printf '%s\n' "$0" | socat -t30 - UNIX-CONNECT:"$1""#, lines, stage)
  }

  private func runAsNobody(
    _ script: String, _ lines: String, _ stage: Stage
  ) throws -> [JSONValue] {
    chmod(stage.daemon.directory, 0o755)
    chmod(stage.daemon.socket, 0o666)
    let answer = try ChildProcess.run(
      "/usr/bin/setpriv",
      [
        "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c", script, lines,
        stage.daemon.socket,
      ])
    return answer.output.split(separator: "\n").compactMap { try? JSONValue(parsing: String($0)) }
  }

  private func expect(_ lines: [JSONValue], _ shown: String...) throws {
    #expect(lines.count == shown.count, "\(lines.map(\.text))")
    for (line, wanted) in zip(lines, shown) {
      #expect(line.difference(from: try JSONValue(parsing: wanted)) == nil, "\(line.text)")
    }
  }

  @Test func `a foreign fetch cannot be cancelled or waited for, and is left alone`() throws {
    let stage = try Stage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(
      #"{"cmd":"fetch","id":1,"url":"ORIGIN/a","receipt":"\#(Self.one)","tags":["t"]}"#)
    let answers = try askAsNobody(
      #"""
      {"cmd":"cancel","id":1,"receipt":"\#(Self.one)"}
      {"cmd":"cancel","id":2,"tag":"t"}
      {"cmd":"cancel","id":3,"all":true}
      {"cmd":"wait","id":4,"receipt":"\#(Self.one)"}
      """#, stage)
    try expect(
      answers,
      #"{"id":1,"ok":false,"receipt":"\#(Self.one)","error":{"code":"forbidden","retryable":false}}"#,
      #"{"id":2,"ok":true,"cancelled":0}"#, #"{"id":3,"ok":true,"cancelled":0}"#,
      #"{"id":4,"ok":false,"error":{"code":"forbidden"}}"#)
    gate.open()
    try stage.play(#"< {"id":1,"ok":true}"#)
  }

  @Test func `a kept outcome is refused to other users, except root`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .picture(png()))
    try stage.play(
      #"""
      > {"cmd":"fetch","id":1,"url":"ORIGIN/a","wait":false,"receipt":"\#(Self.one)"}
      < {"id":1,"ok":true}
      > {"cmd":"wait","id":2,"receipt":"\#(Self.one)"}
      < {"id":2,"ok":true}
      """#)
    try expect(
      try askAsNobody(#"{"cmd":"wait","receipt":"\#(Self.one)"}"#, stage),
      #"{"ok":false,"error":{"code":"forbidden"}}"#)
    let theirs = "22222222-2222-4222-8222-222222222222"
    try expect(
      try askAsNobody(
        #"{"cmd":"fetch","url":"\#(stage.base)/a","wait":false,"receipt":"\#(theirs)"}"#, stage),
      #"{"ok":true,"state":"done"}"#)
    try stage.play(
      #"""
      > {"cmd":"wait","receipt":"\#(theirs)"}
      < {"ok":true}
      """#)
  }

  @Test func `pictures are shared between users, except those with credentials`() throws {
    let stage = try Stage()
    stage.origin.plan("/a", .picture(png()))
    stage.origin.plan("/b", .picture(png()))
    try stage.fetch("/a")
    try stage.play(
      #"""
      > {"cmd":"fetch","url":"ORIGIN/b","headers":{"Authorization":"x"}}
      < {"ok":true,"source":"network"}
      """#)
    let answers = try askAsNobody(
      #"""
      {"cmd":"fetch","id":1,"url":"\#(stage.base)/a"}
      {"cmd":"fetch","id":2,"url":"\#(stage.base)/b","headers":{"Authorization":"x"}}
      """#, stage)
    try expect(
      answers, #"{"id":1,"ok":true,"source":"memory"}"#, #"{"id":2,"ok":true,"source":"network"}"#)
  }

  @Test func `what credentials fetched is shared between users where its origin says so`() throws {
    let stage = try Stage()
    let headers = ["public", "must-revalidate", "private"].map { "max-age=1000, \($0)" }
    for (path, control) in zip(["/a", "/b", "/c"], headers) {
      stage.origin.plan(
        path, .picture(png(), headers: [("Cache-Control", control), ("Set-Cookie", "s=1")]))
      try stage.ask(path, #""headers":{"Authorization":"x"}"#)
    }
    stage.origin.plan("/c", .status(401))
    let base = stage.base
    let answers = try askAsNobody(
      #"""
      {"cmd":"fetch","id":1,"url":"\#(base)/a","http":true}
      {"cmd":"fetch","id":2,"url":"\#(base)/b","headers":{"Authorization":"y"},"deliver":"none"}
      {"cmd":"fetch","id":3,"url":"\#(base)/c","headers":{"Authorization":"x"}}
      """#, stage)
    try expect(
      answers, #"{"id":1,"ok":true,"source":"memory","path":"…"}"#,
      #"{"id":2,"ok":true,"source":"memory"}"#,
      #"{"id":3,"ok":false,"error":{"details":{"status":401}}}"#)
    #expect(answers.first?.header("set-cookie") == nil)
    #expect(stage.origin.count("/a") == 1 && stage.origin.count("/b") == 1)
  }

  @Test func `what redirects led to with credentials is shared with nobody under the first URL`()
    throws
  {
    let stage = try Stage()
    stage.origin.plan("/a", .redirect(to: stage.origin.url("/b?signature=1")), .status(401))
    let headers = [("Cache-Control", "max-age=1000, public")]
    stage.origin.plan("/b?signature=1", .picture(png(), headers: headers))
    #expect(try stage.outcome("/a", #""headers":{"Authorization":"x"}"#) == "network")
    try expect(
      try askAsNobody(#"{"cmd":"fetch","url":"\#(stage.base)/a"}"#, stage),
      #"{"ok":false,"error":{"details":{"status":401}}}"#)
    #expect(stage.origin.count("/a") == 2)
  }

  @Test func `a user may have half of the connections`() throws {
    let stage = try Stage("Control.MaxClients=3")
    // The second connection is made when the first one has had an answer.
    let answers = try runAsNobody(
      #"""
      d=$(TMPDIR=/tmp mktemp -d) && mkfifo "$d/in" "$d/out" || exit
      socat -t30 - UNIX-CONNECT:"$1" <"$d/in" >"$d/out" &
      exec 3>"$d/in" 4<"$d/out"
      printf '%s\n' "$0" >&3
      read -r line <&4 && printf '%s\n' "$line"
      socat -u UNIX-CONNECT:"$1" -
      exec 3>&- 4<&-
      wait
      rm -r "$d"
      """#, #"{"cmd":"ping","id":1}"#, stage)
    try expect(
      answers, #"{"id":1,"ok":true}"#,
      #"{"ok":false,"error":{"code":"too_many_requests","details":{"limit":1,"of":"user"}}}"#)
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
  }
}
