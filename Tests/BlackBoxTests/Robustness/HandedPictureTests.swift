import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures that clients hand in, with real decoders and other users.
@Suite(.serialized) struct HandedPictureTests {
  private let picture = TestPicture.png(width: 600, height: 400)

  @Test func `ten clients that open one file cost one decode and one piece of memory`() throws {
    let stage = try Stage()
    let clients = try (0..<10).map { _ in try stage.connect() }
    let path = stage.daemon.directory + "/a.png"
    try picture.span.withUnsafeBytes { bytes in
      let file = open(path, O_CREAT | O_WRONLY, 0o600)
      defer { close(file) }
      try #require(write(file, bytes.baseAddress, bytes.count) == bytes.count)
    }
    for client in clients {
      let file = open(path, O_RDONLY)
      defer { close(file) }
      try client.send(#"{"cmd":"fetch","url":"fd:","deliver":"pixels"}"# + "\n", with: [file])
    }
    var inodes: Set<UInt> = []
    for client in clients {
      let line = try client.receive()
      #expect(line["ok"]?.bool == true && line["width"]?.integer == 600, "\(line.text)")
      let number = try #require(client.takeDescriptor())
      defer { close(number) }
      var status = stat()
      #expect(fstat(number, &status) == 0)
      inodes.insert(status.st_ino)
    }
    #expect(inodes.count == 1)
    #expect(try stage.stats("decode", "completed") == 1)
  }

  @Test(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0))
  func `what one user has put is not there for another`() throws {
    let stage = try Stage("Control.Put=own")
    let number = try handedMemory(picture)
    defer { close(number) }
    #expect(
      try stage.client.ask(#"{"cmd":"put","url":"\#(stage.base)/a"}"#, with: number).outcome == "client")
    let line = #"{"cmd":"fetch","url":"\#(stage.base)/a","cache":"only-if-cached","deliver":"none"}"#
    #expect(try stage.client.ask(line).outcome == "memory")
    chmod(stage.daemon.directory, 0o755)
    chmod(stage.daemon.socket, 0o666)
    let answer = try ChildProcess.run(
      "/usr/bin/setpriv",
      [
        "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c",
        #"printf '%s\n' "$0" | socat -t30 - UNIX-CONNECT:"$1""#, line, stage.daemon.socket,
      ])
    #expect(try JSONValue(parsing: answer.output).outcome == "not_cached")
  }

  @Test(.slow) func `a hundred thousand descriptors leave none behind`() throws {
    let daemon = try DaemonProcess()
    let (client, file) = (try daemon.connect(), try handedMemory(picture))
    defer { close(file) }
    #expect(try client.ask(#"{"cmd":"ping"}"#, with: file)["ok"]?.bool == true)
    _ = try client.ask(#"{"cmd":"fetch","url":"fd:","deliver":"none"}"#, with: file)
    #expect(try becomes { daemon.openFiles <= 200 })
    let files = daemon.openFiles
    for round in 0..<1_000 {
      for number in 0..<50 {
        // Two for each line, of which one is one too many.
        let isPing = (round + number).isMultiple(of: 2)
        let line = isPing ? #"{"cmd":"ping"}"# : #"{"cmd":"fetch","url":"fd:","deliver":"none"}"#
        try client.send(line + "\n", with: [file, file])
      }
      for line in try client.receive(50) { #expect(line.failureCode == "bad_request") }
    }
    #expect(try becomes { daemon.openFiles == files })
  }
}
