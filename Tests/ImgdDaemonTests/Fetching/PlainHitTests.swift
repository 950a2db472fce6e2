import Glibc
import ImgdCache
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// Hits whose lines are of a known shape. The same request fits none when it is written with an escape in
/// its URL: then it goes the long way, which says what is right.
struct PlainHitTests {
  private static let forms = [
    #"{"id":ID,"cmd":"fetch","url":"URL"}"#, #"{"cmd":"fetch","url":"URL","id":ID}"#,
    #"{"cmd":"fetch","url":"URL","deliver":"none"}"#,
    #"{"deliver":"none","cmd":"fetch","id":ID,"url":"URL","cache":"only-if-cached"}"#,
    #"{"id":ID,"receipt":"RECEIPT","cmd":"fetch","url":"URL","deliver":"path"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd","receipt":"RECEIPT"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"inline","tags":["a"],"share":"b"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","http":true,"deliver":"none","ttl":9}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","http":true,"deliver":"inline","receipt":"RECEIPT"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd","http":true,"ttl":60}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","http":true}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","timeout_ms":30000,"receipt":"RECEIPT"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","format":"webp","deliver":"none"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","resize":{"width":4,"height":2},"format":"webp"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","format":"webp","deliver":"fd","http":true,"receipt":"RECEIPT"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"pixels"}"#,
    // A picture that is smaller already stays as it is.
    #"{"cmd":"fetch","id":ID,"url":"URL","resize":{"width":400},"deliver":"inline"}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","headers":{"If-None-Match":"\"v1\""}}"#,
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd","http":true,"headers":{"if-none-match":"W/\"v1\""}}"#,
    // A client that has another version gets the picture.
    #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd","headers":{"If-None-Match":"\"v2\""}}"#,
  ]

  /// A line of a form; each has a receipt of its own, unless one is given.
  private func line(
    _ form: String, _ url: String, id: String = "1", receipt: String? = nil, escaped: Bool = false
  ) -> String {
    let written = escaped ? url.replacing("/", with: #"\/"#) : url
    let words = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
    let receipt = receipt ?? ReceiptID.random(using: words).description
    return form.replacing("URL", with: written).replacing("RECEIPT", with: receipt)
      .replacing(":ID", with: ":" + id)
  }

  private func stage(_ settings: String...) throws -> CoreStage {
    let stage = try CoreStage(settings)
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(path, .picture(png(), headers: [("Cache-Control", "max-age=100"), ("ETag", "\"v1\"")]))
    }
    return stage
  }

  /// Fetches often enough for the line to be known, and the answer to be prepared.
  private func warm(
    _ stage: CoreStage, _ path: String, form: String = forms[0], on other: TestClient? = nil
  ) throws {
    for _ in 0..<3 {
      let answer = try (other ?? stage.client).ask(line(form, stage.base + path))
      #expect(answer["ok"] == .bool(true))
    }
  }

  /// How many hits were answered without parsing.
  private func shortHits(_ stage: CoreStage) -> Int { stage.core.parts.hits.count }

  // MARK: The same as the long way

  @Test(arguments: [
    ["memory", "hits"], ["memory", "misses"], ["memory", "bytes"], ["memory", "entries"],
    ["disk", "hits"], ["disk", "misses"], ["disk", "lent_bytes"], ["clients", "commands"],
    ["clients", "errors"], ["downloads", "started"], ["failures", "entries"],
  ])
  func `counters are those of the long way`(counter: [String]) throws {
    let counts = try [false, true].map { escaped in
      let stage = try stage()
      for round in 0..<5 {
        // What is kept with a form, to be shown sooner the next time, is counted.
        let isBytes = counter == ["memory", "bytes"]
        for form in Self.forms where !isBytes || !["webp", "pixels", "eaders"].contains(where: form.contains) {
          for path in ["/a", "/b", "/missing"] {
            _ = try stage.client.ask(
              line(form, stage.base + path, id: "\(round)", escaped: escaped))
          }
        }
      }
      #expect((shortHits(stage) > 20) == !escaped)
      return try stage.stats(counter[0], counter[1])
    }
    #expect(counts[0] == counts[1])
  }

  @Test(arguments: ["7", "-7", #""seven""#, #""""#])
  func `answers are those of the long way`(id: String) throws {
    let stage = try stage()
    for form in Self.forms {
      try warm(stage, "/a", form: form)
      let before = shortHits(stage)
      var lines = try [false, true].map { escaped in
        try stage.client.send(line(form, stage.base + "/a", id: id, escaped: escaped))
        return String(decoding: try stage.client.receiveLine(), as: UTF8.self)
      }
      #expect(shortHits(stage) == before + 1)
      let receipts = lines.map { $0.split(separator: #""receipt":""#).last?.prefix(36) ?? "" }
      #expect(Set(receipts).count == 2)
      for index in lines.indices { lines[index].replace(receipts[index], with: "") }
      #expect(lines[0] == lines[1])
    }
  }

  @Test(arguments: ["path", "none", "fd", "inline"])
  func `a picture that was described is described again`(delivery: String) throws {
    let stage = try stage()
    let form = #"{"cmd":"fetch","id":ID,"url":"URL","describe":true,"deliver":"\#(delivery)"}"#
    let first = try stage.client.ask(line(form, stage.base + "/a"))
    #expect(first["thumbhash"]?.string != nil)
    try warm(stage, "/a", form: form)
    let before = shortHits(stage)
    let answers = try [false, true].map { escaped in
      try stage.client.ask(line(form, stage.base + "/a", escaped: escaped))
    }
    #expect(shortHits(stage) == before + 1)
    for answer in answers {
      #expect(answer["thumbhash"] == first["thumbhash"] && answer["average"] == first["average"])
    }
    // The line is known, and nothing is known of this picture.
    #expect(try stage.client.ask(line(form, stage.base + "/b"))["thumbhash"]?.string != nil)
  }

  // MARK: Forms

  private static let form = #"{"cmd":"fetch","id":ID,"url":"URL","format":"webp","deliver":"none"}"#
  private static let pixels = #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"pixels"}"#

  @Test func `a form goes with its picture, and is made of the next one`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()), .picture(png(1_500)), .status(404))
    try warm(stage, "/a", form: Self.form)
    // Where a form is is known from its making on.
    #expect(shortHits(stage) == 2 && stage.decoding.orders.count == 1)
    let reload = #"{"cmd":"fetch","url":"URL","cache":"reload"}"#
    _ = try stage.client.ask(line(reload, stage.base + "/a"))
    let before = shortHits(stage)
    #expect(try stage.client.ask(line(Self.form, stage.base + "/a"))["ok"] == .bool(true))
    #expect(shortHits(stage) == before && stage.decoding.orders.count == 2)
    _ = try stage.client.ask(#"{"cmd":"purge"}"#)
    #expect(
      try stage.client.ask(line(Self.form, stage.base + "/a")).failureCode == "http_status")
  }

  @Test func `pixels that were given up are made again`() throws {
    let stage = try stage()
    try warm(stage, "/a", form: Self.pixels)
    #expect(shortHits(stage) == 2)
    _ = stage.core.parts.pictures.memory.giveUpPixels()
    #expect(try stage.client.ask(line(Self.pixels, stage.base + "/a"))["ok"] == .bool(true))
    #expect(stage.decoding.orders.count == 2)
    while let descriptor = stage.client.takeDescriptor() { close(descriptor) }
  }

  @Test func `a form has the age and the description of its picture`() throws {
    let stage = try stage()
    let form = #"{"cmd":"fetch","id":ID,"url":"URL","format":"webp","describe":true,"deliver":"none"}"#
    stage.jump(.seconds(10))
    try warm(stage, "/a", form: Self.form)
    stage.jump(.seconds(20))
    let answers = try (0..<4).map { _ in try stage.client.ask(line(form, stage.base + "/a")) }
    #expect(shortHits(stage) >= 2)
    for answer in answers {
      #expect(answer["age"]?.integer == 20 && answer["thumbhash"] == answers[0]["thumbhash"])
    }
  }

  @Test func `a form of a picture that depends on the request is not shown to others`() throws {
    let stage = try CoreStage()
    let vary = [("Cache-Control", "max-age=100"), ("Vary", "Accept")]
    stage.origin.plan("/a", .picture(png(), headers: vary), .picture(png(1_500), headers: vary))
    let asking = #"{"cmd":"fetch","url":"URL","headers":{"Accept":"image/png"},"deliver":"pixels"}"#
    for _ in 0..<3 { try warm(stage, "/a", form: asking) }
    try warm(stage, "/a", form: Self.pixels)
    #expect(stage.origin.count("/a") == 2 && stage.decoding.orders.count == 2)
    try warm(stage, "/a", form: asking)
    #expect(stage.decoding.orders.count == 2)
    while let descriptor = stage.client.takeDescriptor() { close(descriptor) }
  }

  // MARK: Receipts

  private static let withReceipt = forms[5]

  @Test func `a receipt is that of the line, in lower case`() throws {
    let stage = try stage()
    try warm(stage, "/a", form: Self.withReceipt)
    let before = shortHits(stage)
    let receipt = "5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"
    for _ in 0..<2 {
      let answer = try stage.client.ask(
        line(Self.withReceipt, stage.base + "/a", receipt: receipt))
      #expect(answer["receipt"]?.string == receipt.lowercased())
    }
    #expect(shortHits(stage) == before + 2)
    // As the protocol says: no receipt is kept of a fetch that memory has answered.
    let outcome = try stage.client.ask(#"{"cmd":"wait","receipt":"\#(receipt)"}"#)
    #expect(outcome.failureCode == "unknown_receipt")
  }

  @Test func `a receipt that is in use is refused although the line is known`() throws {
    let stage = try stage()
    try warm(stage, "/a", form: Self.withReceipt)
    let (gate, receipt) = (Gate(), "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11")
    stage.origin.plan("/slow", .held(at: gate, then: .picture(png())))
    let other = try stage.connect(as: 1_001)
    try other.send(line(Self.withReceipt, stage.base + "/slow", receipt: receipt))
    stage.settle()
    let lines = [false, true].map { escaped in
      line(Self.withReceipt, stage.base + "/a", receipt: receipt, escaped: escaped)
    }
    for line in lines {
      #expect(try stage.client.ask(line).failureCode == "duplicate_receipt")
    }
    gate.open()
    #expect(try other.receive().outcome == "network")
    // It is another user's for a while.
    for line in lines {
      #expect(try stage.client.ask(line).failureCode == "duplicate_receipt")
    }
  }

  @Test func `a client that reads no descriptors is given no more of them`() throws {
    let stage = try stage()
    try warm(stage, "/a", form: Self.withReceipt)
    let limit = stage.core.clients.limits.unsentDescriptors
    // More than the socket takes, and then more than the daemon holds for it.
    let count = limit * 8
    let before = shortHits(stage)
    let lines = (0..<count).map { line(Self.withReceipt, stage.base + "/a", id: "\($0)") }
    try stage.client.send(lines.joined(separator: "\n"))
    stage.settle()
    #expect(shortHits(stage) < before + count)
    for _ in 0..<count { #expect(try stage.client.receive().outcome == "memory") }
  }

  @Test func `a URL that has to be escaped is not mistaken for another field`() throws {
    let stage = try stage()
    let path = #"/a","x_y":"b"#
    stage.origin.plan(path, .picture(png(), headers: [("Cache-Control", "max-age=100")]))
    let escaped = line(Self.forms[0], stage.base + path.replacing("\"", with: #"\""#))
    for _ in 0..<3 { #expect(try stage.client.ask(escaped)["url"]?.string == stage.base + path) }
    try warm(stage, "/a")
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + path))
    #expect(answer["url"]?.string == stage.base + "/a")
  }

  @Test func `lines that arrive together are each answered for themselves`() throws {
    let stage = try stage()
    stage.core.parts.hits.mostNear = 0
    let paths = ["/a", "/b", "/c", "/missing"]
    for path in paths { _ = try stage.client.ask(line(Self.forms[0], stage.base + path)) }
    for round in 0..<6 {
      // More shapes than a client has, so that lines of one read take the places of each other's.
      let some = Self.forms.filter { $0.contains("ID") }.shuffled().prefix(round < 3 ? 4 : 16)
      let asked = (0..<150).map { number in (number, some.randomElement() ?? "", paths.randomElement() ?? "") }
      try stage.client.send(
        asked.map { line($0.1, stage.base + $0.2, id: "\($0.0)") }.joined(separator: "\n"))
      stage.settle()
      var answers: [Int64: JSONValue] = [:]
      for _ in asked {
        let answer = try stage.client.receive()
        answers[answer["id"]?.integer ?? -1] = answer
      }
      for (number, form, path) in asked {
        let answer = answers[Int64(number)]
        #expect(answer?["url"]?.string == stage.base + path)
        #expect(answer?["ok"] == .bool(path != "/missing"))
        guard path != "/missing" else { continue }
        #expect((answer?["format"] == "webp") == form.contains("webp"), "\(form)")
        #expect((answer?["fds"]?[0]?["kind"] == "pixels") == form.contains("pixels"), "\(form)")
        #expect((answer?["data"] != nil) == form.contains("inline"), "\(form)")
      }
      while let descriptor = stage.client.takeDescriptor() { close(descriptor) }
    }
    #expect(shortHits(stage) > 100)
  }

  @Test func `ages go on`() throws {
    let stage = try stage()
    try warm(stage, "/a")
    stage.jump(.seconds(30))
    let before = shortHits(stage)
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    #expect(answer["age"]?.integer == 30 && answer["fresh_for"]?.integer == 70)
    #expect(shortHits(stage) == before + 1)
  }

  @Test func `a hit spares its picture when room is made`() throws {
    let form = Self.forms[2]
    let stage = try CoreStage(
      "Memory.Capacity=500000", "Memory.Preferred=450000", "Memory.MaxEntry=50%",
      "Disk.Enabled=no")
    for path in ["/a", "/b", "/c"] {
      stage.origin.plan(
        path, .picture(png(200_000), headers: [("Cache-Control", "max-age=100")]))
    }
    for path in ["/a", "/b", "/a"] { try warm(stage, path, form: form) }
    #expect(shortHits(stage) > 0)
    try warm(stage, "/c", form: form)
    let outcomes = try ["/a", "/b"].map { path in
      try stage.client.ask(line(Self.forms[3], stage.base + path)).outcome
    }
    #expect(outcomes == ["memory", "not_cached"])
  }

  @Test(arguments: [false, true], ["", #","http":true"#, #","format":"webp""#])
  func `a picture whose descriptor makes others go is counted, and stays`(escaped: Bool, more: String) throws {
    let stage = try CoreStage("Memory.Capacity=200000", "Memory.Preferred=100000", "Disk.Enabled=no")
    let form = #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd"\#(more)}"#
    let plain = #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"none"\#(more)}"#
    for number in 0..<200 {
      stage.origin.plan("/\(number)", .picture(png(1_000), headers: [("Cache-Control", "max-age=100")]))
    }
    try warm(stage, "/1", form: form)
    for _ in 0..<3 { _ = try stage.client.ask(line(plain, stage.base + "/0")) }
    let memory = stage.core.parts.pictures.memory
    var number = 2
    // What a descriptor costs is more than is left.
    while memory.limits.capacity - memory.usage > 2_000 {
      _ = try stage.client.ask(line(Self.forms[2], stage.base + "/\(number)"))
      number += 1
    }
    let (hits, evictions) = (memory.counts.hits, memory.counts.evictions)
    #expect(try stage.client.ask(line(form, stage.base + "/0", escaped: escaped)).outcome == "memory")
    #expect(memory.counts.evictions > evictions && memory.counts.hits == hits + 1)
    let again = #"{"cmd":"fetch","id":ID,"url":"URL","deliver":"fd","cache":"only-if-cached"}"#
    if more.contains("format") { return }
    #expect(try stage.client.ask(line(again, stage.base + "/0")).outcome == "memory")
  }

  @Test func `a hit that has to be described first is one hit`() throws {
    let stage = try stage()
    try warm(stage, "/a")
    let before = try stage.stats("memory", "hits")
    let described = #"{"cmd":"fetch","url":"URL","describe":true,"deliver":"none"}"#
    #expect(try stage.client.ask(line(described, stage.base + "/a"))["thumbhash"]?.string != nil)
    #expect(try stage.stats("memory", "hits") == before + 1)
  }

  @Test func `subscribers hear of each hit`() throws {
    let stage = try stage()
    let other = try stage.connect()
    try warm(stage, "/a")
    _ = try other.ask(#"{"cmd":"subscribe","events":["jobs"]}"#)
    let before = shortHits(stage)
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    let event = try other.receive()
    #expect(shortHits(stage) == before + 1)
    #expect(event["event"] == .string("job") && event["state"] == .string("done"))
    #expect(event["receipt"] == answer["receipt"] && event["url"] == answer["url"])
  }

  // MARK: The picture goes

  @Test func `a purge is seen at once`() throws {
    let stage = try stage()
    try warm(stage, "/a")
    _ = try stage.client.ask(#"{"cmd":"purge"}"#)
    #expect(try stage.client.ask(line(Self.forms[0], stage.base + "/a")).outcome == "network")
    _ = try stage.client.ask(#"{"cmd":"purge","soft":true}"#)
    _ = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    #expect(stage.origin.count("/a") == 3)
  }

  @Test func `a picture that has expired is asked for again`() throws {
    let stage = try stage()
    try warm(stage, "/a")
    stage.jump(.seconds(99))
    #expect(try stage.client.ask(line(Self.forms[0], stage.base + "/a")).outcome == "memory")
    stage.jump(.seconds(1))
    #expect(try stage.client.ask(line(Self.forms[0], stage.base + "/a")).outcome == "network")
  }

  @Test func `a picture that was replaced is not shown any more`() throws {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(png()), .picture(png(1_500)))
    try warm(stage, "/a")
    let reload = #"{"cmd":"fetch","url":"URL","cache":"reload"}"#
    _ = try stage.client.ask(line(reload, stage.base + "/a"))
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    #expect(answer.outcome == "memory" && answer["bytes"]?.integer == 1_500)
  }

  @Test func `the path of a file that was removed is not handed out`() throws {
    let stage = try stage("Disk.Lease=0s")
    try warm(stage, "/a")
    let before = shortHits(stage)
    let path = try #require(
      try stage.client.ask(line(Self.forms[0], stage.base + "/a"))["path"]?.string)
    #expect(shortHits(stage) == before + 1)
    unlink(path)
    stage.passMoment()
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    #expect(answer["path"]?.string != path && answer.outcome == "memory")
    #expect(shortHits(stage) == before + 1)
  }

  @Test func `two users see one public picture, and each other's identifiers not`() throws {
    let stage = try stage()
    let (one, two) = (try stage.connect(as: 1_001), try stage.connect(as: 1_002))
    let named = #"{"cmd":"fetch","url":"URL","identifier":"i"}"#
    for client in [one, two] {
      try warm(stage, "/a", on: client)
      try warm(stage, "/b", on: client)
      try warm(stage, "/b", form: named, on: client)
    }
    #expect(stage.origin.count("/a") == 1 && stage.origin.count("/b") == 3)
  }

  @Test func `no hit is answered while the daemon drains`() throws {
    let stage = try stage()
    try warm(stage, "/a")
    stage.core.drain {}
    let answer = try stage.client.ask(line(Self.forms[0], stage.base + "/a"))
    #expect(answer.failureCode == "shutting_down")
  }

  // MARK: What is held

  @Test func `shapes are shared, counted, and go with their clients`() throws {
    let stage = try stage()
    let shapes = stage.core.clients.shapes
    try warm(stage, "/a")
    let one = shapes.heldBytes
    #expect(one > 0)
    var others = try (0..<10).map { _ in try stage.connect() }
    for other in others { try warm(stage, "/b", on: other) }
    #expect(shapes.heldBytes == one)
    try warm(stage, "/b", form: Self.forms[1], on: others[0])
    #expect(shapes.heldBytes > one)
    #expect(stage.core.clients.heldBytes >= shapes.heldBytes)
    others = []
    stage.settle()
    #expect(shapes.heldBytes == one)
  }

  @Test func `a client of ever new shapes learns few of them`() throws {
    let stage = try stage("Disk.Enabled=no")
    let shapes = stage.core.clients.shapes
    var sizes: Set<Int> = []
    for number in 0..<300 {
      _ = try stage.client.ask(
        line(#"{"cmd":"fetch","deliver":"none","x_\#(number)":0,"url":"URL"}"#, stage.base + "/a"))
      sizes.insert(shapes.heldBytes)
    }
    #expect(shapes.heldBytes <= KnownShapes.most * 550)
    #expect(sizes.count < 12)
    try warm(stage, "/a", form: Self.forms[2])
  }
}
