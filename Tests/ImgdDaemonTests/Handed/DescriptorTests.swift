import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Pictures whose descriptors clients send.
struct DescriptorTests {
  private let picture = TestPicture.png(width: 100, height: 50)

  private func fetch(_ fields: String = #""deliver":"none""#) -> String { #"{"cmd":"fetch","url":"fd:",\#(fields)}"# }

  private func ask(_ client: TestClient, _ bytes: [UInt8], _ line: String) throws -> JSONValue {
    let number = try handedMemory(bytes)
    defer { close(number) }
    return try client.ask(line, with: number)
  }

  @Test func `the same bytes are decoded once, and lie in memory once`() throws {
    let stage = try CoreStage()
    stage.decoding.isHeld = true
    let clients = try (0..<10).map { try stage.connect(as: $0 < 5 ? 7 : 8) }
    for client in clients {
      let number = try handedMemory(picture)
      defer { close(number) }
      try client.send(fetch(#""deliver":"pixels""#) + "\n", with: [number])
    }
    stage.settle()
    stage.decoding.letThrough()
    var inodes: Set<UInt> = []
    for client in clients {
      let line = try client.receive()
      #expect(line["ok"]?.bool == true && line["url"]?.string == "fd:", "\(line.text)")
      var status = stat()
      let number = try #require(client.takeDescriptor())
      defer { close(number) }
      #expect(fstat(number, &status) == 0)
      inodes.insert(status.st_ino)
    }
    #expect(stage.decoding.orders.count == 1 && inodes.count == 1)
    #expect(try stage.stats("memory", "entries") == 2)
    #expect(stage.files.isEmpty)
    #expect(try ask(stage.client, picture, fetch()).outcome == "memory")
  }

  @Test func `it is known by its bytes, for ever, and goes to disk where that is asked for`() throws {
    let stage = try CoreStage()
    let line = try ask(stage.client, picture, fetch(#""deliver":"fd","tags":["t"]"#))
    #expect(line.outcome == "client" && line["width"]?.integer == 100)
    #expect(line["fresh_for"]?.integer == 315_360_000)
    _ = stage.client.takeDescriptor()
    #expect(try ask(stage.client, picture, fetch()).outcome == "memory")
    #expect(try ask(stage.client, TestPicture.png(bytes: 1_000), fetch()).outcome == "client")
    let entries = try stage.client.ask(#"{"cmd":"entries"}"#)["entries"]?.array ?? []
    #expect(entries.count == 2 && entries.allSatisfy { $0["url"]?.string?.utf8.count == 67 })
    // A request cannot name it.
    for entry in entries {
      let url = entry["url"]?.string ?? ""
      for _ in 0..<3 { #expect(try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#).outcome == "blocked_scheme") }
    }
    #expect(try stage.client.ask(#"{"cmd":"purge","tag":"t"}"#)["ok"]?.bool == true)
    #expect(try ask(stage.client, picture, fetch(#""store":"all","deliver":"path""#))["path"]?.string != nil)
    #expect(stage.files.count == 1)
    try stage.restart()
    #expect(
      try ask(stage.client, picture, fetch(#""resize":{"width":20},"store":"all","deliver":"none""#)).outcome == "disk")
    #expect(
      try ask(stage.client, TestPicture.png(bytes: 900), fetch(#""cache":"no-store","deliver":"none""#)).outcome
        == "client")
    #expect(try ask(stage.client, TestPicture.png(bytes: 900), fetch()).outcome == "client")
  }

  @Test func `it has no answer of an origin, and a path only where it is stored`() throws {
    let stage = try CoreStage()
    for _ in 0..<2 {
      let line = try ask(stage.client, picture, fetch(#""deliver":"path","http":true"#))
      #expect(line["ok"]?.bool == true && line["http"] == nil && line["path"] == .null)
      #expect(line["deliver_note"]?.string?.contains("in memory alone") == true, "\(line.text)")
    }
  }

  @Test func `what has no origin has none of its fields`() throws {
    let stage = try CoreStage()
    for field in [
      #""identifier":"i""#, #""headers":{"A":"b"}"#, #""ttl":1"#, #""cache":"reload""#, #""cache":"no-cache""#,
    ] {
      let error = try ask(stage.client, picture, fetch(field))["error"]
      #expect(error?["code"]?.string == "bad_request")
      #expect(field.contains(error?["details"]?["field"]?.string ?? "-"))
    }
    #expect(try stage.client.ask(fetch()).outcome == "bad_request")
    #expect(try ask(stage.client, picture, fetch(#""cache":"only-if-cached","deliver":"none""#)).outcome == "client")
  }

  @Test func `what is not a file is refused by its name`() throws {
    let stage = try CoreStage()
    var ends: [CInt] = [0, 0]
    pipe(&ends)
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
    let cases: [(CInt, String, String)] = [
      (ends[0], "bad_request", "a pipe"), (open("/", O_RDONLY), "bad_request", "a directory"),
      (open("/dev/zero", O_RDONLY), "bad_request", "a device"), (socket, "bad_request", "a socket"),
      (open("/bin/sh", O_RDONLY), "not_an_image", "picture"),
      (try handedMemory([]), "empty_body", "no bytes"),
      // It says that it has a page, and has less.
      (open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY), "truncated", "shorter"),
      (open(stage.home + "/written", O_WRONLY | O_CREAT, 0o600), "bad_request", "cannot be read"),
    ]
    let last = cases.count - 1
    write(cases[last].0, "written", 7)
    for (number, code, word) in cases {
      defer { close(number) }
      for line in [fetch(), #"{"cmd":"put","url":"\#(stage.base)/a"}"#] {
        let error = try stage.client.ask(line, with: number)["error"]
        #expect(error?["code"]?.string == code && error?["message"]?.string?.contains(word) == true, "\(word)")
      }
    }
    close(ends[1])
    let sealed = try handedMemory(picture)
    defer { close(sealed) }
    // F_ADD_SEALS with all seals.
    #expect(fcntl(sealed, 1_033, 15) == 0)
    #expect(try stage.client.ask(fetch(), with: sealed).outcome == "client")
    #expect(lseek(sealed, 0, SEEK_CUR) == picture.count, "the client's offset stays where it is")
  }

  @Test func `a descriptor belongs to the line that its message ends with`() throws {
    let stage = try CoreStage()
    let number = try handedMemory(picture)
    defer { close(number) }
    let (line, ping) = (fetch() + "\n", #"{"cmd":"ping"}"# + "\n")
    let client = stage.client
    let expect = { (outcomes: [String]) in
      for outcome in outcomes {
        let line = try client.receive()
        #expect((line["source"] == nil && line["ok"]?.bool == true ? "pong" : line.outcome) == outcome, "\(line.text)")
      }
      #expect(try client.receiveNow() == nil)
    }
    try client.send(ping + line, with: [number])
    try expect(["pong", "client"])
    try client.send(line + ping, with: [number])
    try expect(["bad_request", "pong"])
    // In parts, whose first, or last, has it.
    for (first, last) in [([number], []), ([], [number])] as [([CInt], [CInt])] {
      try client.send(ping + line.prefix(9), with: first)
      stage.settle()
      try client.send(line.dropFirst(9) + (last.isEmpty ? ping : ""), with: last)
      try expect(["pong"] + (last.isEmpty ? ["pong"] : []) + ["memory"])
    }
    try client.send(String(line.prefix(9)), with: [number])
    stage.settle()
    try client.send(String(line.dropFirst(9)) + line, with: [number])
    try expect(["memory", "memory"])
    // Two, in one message and in two; a comment and a line that is too long have no use for theirs.
    try client.send(line, with: [number, number])
    try client.send(String(line.prefix(9)), with: [number])
    stage.settle()
    try client.send(String(line.dropFirst(9)), with: [number])
    try client.send(line, with: [number, number, number])
    try client.send("# none\n", with: [number])
    try client.send(line, with: [])
    try client.send(String(repeating: "x", count: 70_000) + "\n", with: [number])
    try expect(["bad_request", "bad_request", "bad_request", "bad_request", "line_too_long"])
  }

  @Test func `descriptors that are of no use are closed`() async {
    await #expect(processExitsWith: .success) {
      let stage = try CoreStage()
      stage.origin.plan("/a", .picture(png()))
      let file = open("/dev/zero", O_RDONLY)
      let url = #"{"cmd":"fetch","url":"\#(stage.base)/a","deliver":"none"}"# + "\n"
      for line in [url, url, url, #"{"cmd":"ping"}"# + "\n", "nonsense\n", "# comment\n", "\n"] {
        for count in 1...3 {
          for _ in 0..<20 { try stage.client.send(line, with: [CInt](repeating: file, count: count)) }
          stage.settle()
          while try stage.client.receiveNow() != nil {}
        }
      }
      try #require(openDescriptors("/dev/zero") == 1)
      // Half a line, as the connection ends.
      for end in ["{", url] {
        let leaving = try stage.connect()
        try leaving.send(end, with: [file])
        stage.settle()
        _ = consume leaving
      }
      let foreign = try stage.connect()
      try foreign.send("GET / HTTP/1.1\r\n", with: [file])
      stage.settle()
      stage.pass(.seconds(1))
      try #require(openDescriptors("/dev/zero") == 1)
    }
  }

  @Test func `a file that does not answer holds up nobody else, and its fetch ends in time`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies)
    let number = try handedMemory(picture)
    defer { close(number) }
    let slow = try stage.connect(as: 7)
    for _ in 0..<4 { try slow.send(fetch(#""timeout_ms":1000"#) + "\n", with: [number]) }
    stage.settle()
    // As many threads as are left for others.
    #expect(copies.waitUntilHeld(2))
    let other = try stage.connect(as: 8)
    try other.send(fetch() + "\n", with: [number])
    stage.settle()
    #expect(copies.waitUntilHeld(3))
    #expect(copies.begun == [1, 2, 5])
    stage.pass(.seconds(2))
    for _ in 0..<4 {
      let error = try slow.receive()["error"]
      #expect(error?["code"]?.string == "timeout" && error?["details"]?["phase"]?.string == "copy")
    }
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try other.receive().outcome == "client")
  }

  @Test func `files that never answer leave threads for others, and for their own user`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies)
    let number = try handedMemory(picture)
    defer { close(number) }
    var others: [TestClient] = []
    // Two of each user hang, and then two more, as those that hang for long are set aside.
    for round in 1...2 {
      for uid in 7...9 as ClosedRange<UInt32> {
        let client = try stage.connect(as: uid)
        for _ in 0..<2 { try client.send(fetch(#""timeout_ms":1000"#) + "\n", with: [number]) }
        others.append(client)
        stage.settle()
      }
      for _ in 0..<3 { stage.pass(HandedBytes.patience) }
      #expect(copies.waitUntilHeld(6 * round))
    }
    #expect(stage.core.parts.copies.count == 12)
    let late = try stage.connect(as: 10)
    try late.send(fetch() + "\n", with: [number])
    stage.settle()
    #expect(copies.waitUntilHeld(13))
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try late.receive().outcome == "client")
  }

  @Test func `a slot shows the descriptor that came last`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies)
    let number = try handedMemory(picture)
    defer { close(number) }
    for _ in 0..<2 { try stage.client.send(fetch(#""slot":"s","deliver":"none""#) + "\n", with: [number]) }
    stage.settle()
    #expect(try stage.client.receive().outcome == "cancelled")
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try stage.client.receive().outcome == "client")
  }

  @Test func `a copy is given up with its fetch`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies)
    let number = try handedMemory(picture)
    defer { close(number) }
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    try stage.client.send(fetch(#""receipt":"\#(receipt)","slot":"s","deliver":"none""#) + "\n", with: [number])
    stage.settle()
    let jobs = try stage.connect().ask(#"{"cmd":"list"}"#)["jobs"]?.array ?? []
    #expect(jobs.count == 1 && jobs[0]["url"]?.string == "fd:" && jobs[0]["state"]?.string == "running")
    #expect(try stage.connect().ask(#"{"cmd":"cancel","receipt":"\#(receipt)"}"#)["state"]?.string == "running")
    #expect(try stage.client.receive().outcome == "cancelled")
    copies.letGo()
    while stage.core.parts.copies.count > 0 { stage.tick() }
    #expect(try stage.stats("memory", "entries") == 0)
  }

  @Test func `a client with many descriptors in line is not read from until some have had their turn`() throws {
    let copies = HeldCopies()
    let stage = try CoreStage(holding: copies)
    let number = try handedMemory(picture)
    defer { close(number) }
    let client = try stage.connect(as: 7)
    for _ in 0..<40 { try client.send(fetch() + "\n", with: [number]) }
    try client.send(#"{"cmd":"ping","id":"last"}"# + "\n", with: [])
    stage.settle()
    #expect(stage.core.parts.copies.count == HandedBytes.mostInLine + 3)
    copies.letGo()
    var lines: [JSONValue] = []
    // Between two that are copied there may be a moment at which none is in line.
    while lines.count < 41 {
      stage.tick()
      while let line = try client.receiveNow() { lines.append(line) }
    }
    #expect(lines.count { $0["source"] != nil } == 40 && lines.count { $0["id"]?.string == "last" } == 1)
  }
}

/// How many descriptors of this process lead to a path.
private func openDescriptors(_ path: String) -> Int {
  (0..<1_024).count { number in
    var room = [CChar](repeating: 0, count: 256)
    let length = readlink("/proc/self/fd/\(number)", &room, room.count)
    return String(decoding: room.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self) == path
  }
}
