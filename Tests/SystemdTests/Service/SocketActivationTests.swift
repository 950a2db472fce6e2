import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// A service that its first client starts, through a socket that outlives it.
@Suite(.machine) struct SocketActivationTests {
  private let stage: ServiceStage
  private var machine: Machine { stage.machine }

  init() throws {
    stage = try ServiceStage()
    try stage.machine.perform("systemctl start imgd.socket")
  }

  private func inode() throws -> ino_t {
    var status = stat()
    guard lstat(machine.path(Machine.socket), &status) == 0 else {
      throw TestFailure("no socket: errno \(errno)")
    }
    return status.st_ino
  }

  @Test func `the first client starts it and is answered`() throws {
    #expect(try machine.state() == "inactive")
    try machine.perform("imgctl ping")
    #expect(try machine.state() == "active")
  }

  @Test func `the first line of a plain program starts it and is answered`() throws {
    let said = try machine.perform(
      #"echo '{"cmd":"ping","id":1}' | socat -t 20 - UNIX-CONNECT:\#(Machine.socket)"#)
    #expect(try JSONValue(parsing: said)["ok"] == .bool(true))
  }

  @Test func `all clients that connect while it starts are answered`() throws {
    let clients = try (0..<200).map { number in
      let client = try stage.connect()
      try client.send(#"{"cmd":"ping","id":\#(number)}"#)
      return client
    }
    for (number, client) in clients.enumerated() {
      let answer = try client.receive()
      #expect(answer["ok"] == .bool(true))
      #expect(answer["id"]?.integer == Int64(number))
    }
    #expect(try machine.property("NRestarts") == "0")
  }

  @Test func `a client of a service that cannot start gets the reason, and the socket stays`()
    throws
  {
    try stage.configure("[Memory]\nCapacity=much\n")
    let (status, said) = try machine.run("imgctl ping")
    #expect(status != 0 && said.contains("/etc/imgd/imgd.conf:2"), "\(said)")
    try machine.waitUntil(is: "failed")
    #expect(try machine.state(of: "imgd.socket") == "active")
    try stage.configure("")
    try machine.perform("imgctl ping")
  }

  @Test func `the socket and its directory belong to the group`() throws {
    let before = try machine.perform("stat -c '%a %U:%G' /run/imgd /run/imgd/imgd.sock")
    #expect(before.hasSuffix("\n660 root:imgd"), "\(before)")
    try machine.perform("imgctl ping")
    try machine.perform("systemctl stop imgd.service")
    let after = try machine.perform("stat -c '%a %U:%G' /run/imgd /run/imgd/imgd.sock")
    #expect(after == before)
  }

  @Test func `a restart leaves the socket where it is`() throws {
    let inode = try self.inode()
    try machine.perform("imgctl ping; systemctl restart imgd.service; imgctl ping")
    #expect(try self.inode() == inode)
  }

  @Test func `a client that connects after a kill is answered by the next process`() throws {
    try machine.perform("imgctl ping")
    let inode = try self.inode()
    let first = try machine.process()
    kill(first, SIGKILL)
    let client = try stage.connect()
    #expect(try client.ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
    #expect(try machine.process() != first)
    #expect(try self.inode() == inode)
  }

  @Test func `a client that connects after a stop starts it again`() throws {
    try machine.perform("imgctl ping; systemctl stop imgd.service")
    #expect(try machine.state() == "inactive")
    #expect(try stage.connect().ask(#"{"cmd":"ping"}"#)["ok"] == .bool(true))
    #expect(try machine.state() == "active")
  }

  @Test func `a client that connects during a restart is answered by the next process`() throws {
    stage.origin.plan("/slow", .silence)
    try machine.perform("imgctl ping")
    let holdsItUp = try stage.connect()
    try stage.begin(#"{"cmd":"fetch","id":1,"url":"ORIGIN/slow"}"#, on: holdsItUp)
    let restart = try machine.begin("systemctl restart imgd.service")
    try machine.waitUntil(is: "deactivating")
    let client = try stage.connect()
    try client.send(#"{"cmd":"ping"}"#)
    // What runs is left by its client, so the restart need not wait for it any longer.
    try holdsItUp.send(#"{"cmd":"cancel","all":true,"id":2}"#)
    #expect(try client.receive()["ok"] == .bool(true))
    #expect(ChildProcess.wait(restart) == 0)
  }
}
