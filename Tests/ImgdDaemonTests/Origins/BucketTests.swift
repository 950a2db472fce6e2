import Glibc
import ImgdCache
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon
@testable import ImgdTransfer

/// Objects of buckets, `s3://bucket/key`, with a section `[Origin s3://bucket]`.
struct BucketTests {
  private let directory = TemporaryDirectory()

  private var path: String { directory.path + "/keys" }

  private func leave(_ secret: String = "s3cr3t") throws {
    try write("[default]\naws_access_key_id = id3nt1ty\naws_secret_access_key = \(secret)\n", to: path)
    chmod(path, 0o600)
  }

  private func stage(_ settings: String...) throws -> CoreStage {
    try leave()
    let stage = try CoreStage(["Origin s3://pics.CredentialsFile=\(path)"] + settings)
    for path in ["/a", "/b/1", "/b/2", "/b%281%29"] { stage.origin.plan(path, .picture(png())) }
    return stage
  }

  @discardableResult private func fetch(_ url: String, on client: TestClient) throws -> JSONValue {
    try client.ask(#"{"cmd":"fetch","url":"\#(url)"}"#)
  }

  private func signers(of stage: CoreStage) -> [ObjectIdentifier?] {
    stage.origin.orders.map { $0.signer.map { ObjectIdentifier($0) } }
  }

  // MARK: Who signs

  @Test func `transfers of a bucket have its signer, and no others have one`() throws {
    let stage = try stage("Origin s3://more.CredentialsFile=\(path)")
    for url in [
      "s3://pics/a", "s3://pics/b/1", "s3://more/a", "s3://none/a", "http://pics/a", "https://pics.s3.amazonaws.com/a",
    ] { try fetch(url, on: stage.client) }
    let signers = signers(of: stage)
    #expect(signers.map { $0 != nil } == [true, true, true, false, false, false])
    #expect(signers[0] == signers[1] && signers[0] != signers[2])
    #expect(stage.origin.orders.prefix(3).map { $0.signer?.place.bucket } == ["pics", "pics", "more"])
    #expect(stage.origin.orders.first?.url == "s3://pics/a")
  }

  @Test func `a section says where its bucket is`() throws {
    let stage = try stage(
      "Origin s3://pics.Endpoint=http://127.0.0.1:9000/", "Origin s3://pics.Region=eu-west-1")
    try fetch("s3://pics/a", on: stage.client)
    let expected = BucketPlace(
      bucket: "pics", endpoint: BucketEndpoint("http://127.0.0.1:9000"), region: "eu-west-1")
    #expect(stage.origin.orders.first?.signer?.place == expected)
  }

  @Test func `a signer is kept for as long as its section says the same`() throws {
    let stage = try stage()
    try fetch("s3://pics/a", on: stage.client)
    let moved = BucketPlace(bucket: "pics", region: "eu-west-1")
    stage.origin.orders[0].signer?.keep(moved)
    try stage.apply("Origin s3://pics.MaxActive=3", "Memory.Capacity=50M")
    try fetch("s3://pics/b/1", on: stage.client)
    #expect(stage.origin.orders[1].signer?.place == moved)
    try leave("another")
    try stage.apply()
    try fetch("s3://pics/b/2", on: stage.client)
    let signers = signers(of: stage)
    #expect(signers[0] == signers[1] && signers[1] != signers[2])
    #expect(stage.origin.orders[2].signer?.place.region == "us-east-1")
  }

  @Test func `a client's own authorisation stays, and the picture is then that client's`() throws {
    let stage = try stage()
    let request = #"{"cmd":"fetch","url":"s3://pics/a","headers":{"authorization":"mine"}}"#
    #expect(try stage.client.ask(request)["ok"] == true)
    #expect(stage.origin.orders[0].headers == [HeaderField("authorization", "mine")])
    #expect(try fetch("s3://pics/a", on: stage.connect(as: 4_242))["source"] == "network")
  }

  @Test func `redirects leave the bucket without its signer`() throws {
    let stage = try stage()
    stage.origin.plan("/x", .redirect(to: stage.origin.url("/a")))
    #expect(try fetch("s3://pics/x", on: stage.client)["final_url"]?.string == stage.origin.url("/a"))
    #expect(signers(of: stage).map { $0 != nil } == [true, false])
  }

  @Test func `a bucket may be a fallback, and have one`() throws {
    let stage = try stage(
      "Origin 127.0.0.1.Fallback=s3://pics{path}", "Origin s3://pics.Fallback=https://mirror.example/m{path}")
    stage.origin.plan("/y", .status(500), .picture(png()))
    #expect(try stage.fetch("/y")["source"] == "network")
    stage.origin.plan("/z", .status(500))
    stage.origin.plan("/m/z", .picture(png()))
    #expect(try fetch("s3://pics/z", on: stage.client)["source"] == "network")
    #expect(stage.origin.orders.map(\.url).dropFirst() == ["s3://pics/y", "s3://pics/z", "https://mirror.example/m/z"])
    #expect(signers(of: stage).map { $0 != nil } == [false, true, true, false])
  }

  // MARK: The cache

  @Test func `all spellings of a key are one entry, for everybody on the machine`() throws {
    let stage = try stage()
    #expect(try fetch("s3://pics/b(1)", on: stage.client)["source"] == "network")
    let other = try stage.connect(as: 4_242)
    for url in ["s3://pics/b(1)", "s3://pics/b%281%29", "S3://pics/b%28%31%29#x"] {
      #expect(try fetch(url, on: other)["source"] == "memory")
    }
    try stage.restart()
    #expect(try fetch("s3://pics/b%281%29", on: stage.client)["source"] == "disk")
    #expect(stage.origin.requests.count == 1)
  }

  @Test(arguments: [
    (#""url":"s3://pics/b(1)""#, 1), (#""prefix":"s3://pics/b/""#, 2), (#""prefix":"s3://pics/b%28""#, 1),
    (#""prefix":"s3://""#, 4), (#""host":"pics""#, 4), (#""host":"PICS""#, 4), (#""host":"ics""#, 0),
    (#""tag":"t""#, 1),
    (#""prefix":"http://""#, 1),
  ])
  func `purges are about objects as about other URLs`(filter: String, count: Int) throws {
    let stage = try stage()
    for url in ["s3://pics/a", "s3://pics/b/1", "s3://pics/b/2", "s3://pics/b(1)", stage.origin.url("/a")] {
      let tags = url.hasSuffix("2") ? #","tags":["t"]"# : ""
      #expect(try stage.client.ask(#"{"cmd":"fetch","url":"\#(url)"\#(tags)}"#)["ok"] == true)
    }
    let purged = try stage.client.ask(#"{"cmd":"purge",\#(filter)}"#)
    #expect(purged["memory"]?["entries"]?.integer == Int64(count), "\(purged.text)")
    #expect(purged["disk"]?["entries"]?.integer == Int64(count), "\(purged.text)")
  }

  @Test func `objects are queried, listed and cancelled like other URLs`() throws {
    let stage = try stage()
    let gate = Gate()
    stage.origin.plan("/held", .held(at: gate, then: .picture(png())))
    try fetch("s3://pics/b(1)", on: stage.client)
    let found = try stage.client.ask(#"{"cmd":"query","url":"s3://pics/b%281%29"}"#)
    #expect(found["tier"] == "memory" && found["url"] == "s3://pics/b%281%29")
    let entries = try stage.client.ask(#"{"cmd":"entries","tier":"disk","prefix":"s3://pics/b"}"#)
    #expect(entries["entries"]?.array?.first?["url"] == "s3://pics/b%281%29")
    let receipt = "11111111-1111-4111-8111-111111111111"
    try stage.client.send(#"{"cmd":"fetch","url":"s3://pics/held","receipt":"\#(receipt)"}"#)
    stage.settle()
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"list"}"#).text.contains("s3://pics/held"))
    #expect(try other.ask(#"{"cmd":"cancel","receipt":"\#(receipt)"}"#)["ok"] == true)
    #expect(try stage.client.receive()["error"]?["code"] == "cancelled")
    gate.open()
  }

  @Test func `the other keys of a section mean the same`() throws {
    try write("X-Amz-Request-Payer: requester\n", to: directory.path + "/fields")
    chmod(directory.path + "/fields", 0o600)
    let stage = try stage(
      "Origin s3://pics.Key=without v", "Origin s3://pics.MinFresh=1h", "Origin s3://pics.MaxActive=1",
      "Origin s3://pics.HeaderFile=\(directory.path)/fields")
    let gate = Gate()
    stage.origin.plan("/a?v=1", .held(at: gate, then: .picture(png(), headers: [("Cache-Control", "no-cache")])))
    for url in ["s3://pics/a?v=1", "s3://pics/b/1", "http://pics/a"] {
      try stage.client.send(#"{"cmd":"fetch","url":"\#(url)"}"#)
    }
    stage.settle()
    // A bucket and a host of the same name have nothing to do with each other.
    #expect(stage.origin.orders.map(\.url) == ["s3://pics/a?v=1", "http://pics/a"])
    #expect(stage.origin.orders[0].headers == [HeaderField("X-Amz-Request-Payer", "requester")])
    gate.open()
    for _ in 0..<3 { #expect(try stage.client.receive()["ok"] == true) }
    #expect(try fetch("s3://pics/a?v=2", on: stage.client)["source"] == "memory")
  }

  @Test func `the secret is in no answer, event or setting`() throws {
    let stage = try stage()
    let listener = try stage.connect()
    var lines = [try listener.ask(#"{"cmd":"subscribe"}"#)]
    stage.origin.plan("/c", .status(403))
    stage.origin.plan("/d", .fails(.connect))
    for key in ["a", "c", "d"] {
      lines.append(try stage.client.ask(#"{"cmd":"fetch","url":"s3://pics/\#(key)","progress":true,"http":true}"#))
    }
    for command in ["stats", "list", "config", "hello", "slots", "entries"] {
      lines.append(try stage.client.ask(#"{"cmd":"\#(command)"}"#))
    }
    for client in [stage.client, listener] { while let line = try client.receiveNow() { lines.append(line) } }
    for line in lines { #expect(!line.text.contains("s3cr3t") && !line.text.contains("id3nt1ty"), "\(line.text)") }
    #expect(lines.contains { $0.text.contains(path) }, "the configuration names the file")
    var text = "\(stage.origin.orders)"
    dump(stage.origin.orders, to: &text)
    dump(stage.core, to: &text)
    #expect(!text.contains("s3cr3t") && !text.contains("id3nt1ty"))
  }
}
