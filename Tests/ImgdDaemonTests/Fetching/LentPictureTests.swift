import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

/// What a program hears of a picture that it may pass on: `checksum`, `modified` and `keep`.
struct LentPictureTests {
  private static let date = "Tue, 01 Jul 2025 10:00:00 GMT"
  private static let thumbnail = #""resize":{"width":20,"height":10}"#

  private func stage(_ headers: [(String, String)], _ bytes: [UInt8] = png()) throws -> CoreStage {
    let stage = try CoreStage()
    stage.origin.plan("/a", .picture(bytes, headers: headers))
    return stage
  }

  /// The object in `fds`, and where the picture was.
  private func ask(
    _ stage: CoreStage, _ fields: String...
  ) throws -> (lent: JSONValue, source: String?) {
    let line = try stage.ask("/a", ([#""deliver":"fd""#] + fields).joined(separator: ","))
    let descriptor = try #require(stage.client.takeDescriptor())
    close(descriptor)
    return (try #require(line["fds"]?.array?.first), line["source"]?.string)
  }

  @Test func `the same bytes have one checksum and one date, wherever they are`() throws {
    let stage = try stage([("Last-Modified", Self.date)])
    let (first, source) = try ask(stage)
    #expect(source == "network")
    #expect(first["checksum"]?.string?.utf8.count == 16)
    #expect(first["modified"]?.string == "2025-07-01T10:00:00Z")
    #expect(first["keep"] == nil)
    #expect(try ask(stage) == (first, "memory"))
    try stage.emptyMemory()
    #expect(try ask(stage) == (first, "disk"))
    try stage.restart()
    try stage.emptyMemory()
    #expect(try ask(stage) == (first, "disk"))
    #expect(stage.origin.count("/a") == 1)
  }

  @Test func `the checksum is that of the bytes`() throws {
    let stage = try stage([])
    stage.origin.plan("/b", .picture(png()))
    stage.origin.plan("/c", .picture(png(seed: 1)))
    let sums = try ["/a", "/b", "/c"].map { path in
      let line = try stage.ask(path, #""deliver":"fd""#)
      close(try #require(stage.client.takeDescriptor()))
      return line["fds"]?.array?.first?["checksum"]?.string
    }
    #expect(sums[0] == sums[1] && sums[0] != sums[2])
  }

  @Test(arguments: [
    "", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2300 00:00:00 GMT",
  ])
  func `a date that the origin does not name is left out in either tier`(date: String) throws {
    let headers = date.isEmpty ? [] : [("Last-Modified", date)]
    let stage = try stage([("Cache-Control", "max-age=100")] + headers)
    #expect(try ask(stage).lent["modified"] == nil)
    try stage.emptyMemory()
    let (lent, source) = try ask(stage)
    #expect(lent["modified"] == nil && source == "disk")
  }

  @Test func `a confirmation brings another date`() throws {
    let stage = try CoreStage()
    stage.origin.plan(
      "/a",
      .picture(png(), headers: [("ETag", "\"1\""), ("Cache-Control", "max-age=0")]),
      .status(
        304,
        headers: [("ETag", "\"1\""), ("Last-Modified", Self.date), ("Cache-Control", "max-age=60")])
    )
    #expect(try ask(stage).lent["modified"] == nil)
    let (confirmed, source) = try ask(stage)
    #expect(source == "revalidated" && confirmed["modified"]?.string == "2025-07-01T10:00:00Z")
    try stage.emptyMemory()
    #expect(try ask(stage) == (confirmed, "disk"))
  }

  @Test(arguments: ["no-store", "private"])
  func `nobody is to keep what its origin forbids to keep`(directive: String) throws {
    let picture = TestPicture.png(width: 100, height: 50)
    let stage = try stage([("Cache-Control", directive)], picture)
    #expect(try ask(stage).lent["keep"]?.bool == false)
    #expect(try ask(stage, Self.thumbnail).lent["keep"]?.bool == false)
  }

  @Test func `nobody is to keep what was fetched with credentials`() throws {
    let stage = try stage([])
    let secret = #""headers":{"Authorization":"Basic eA=="}"#
    for _ in 1...2 { #expect(try ask(stage, secret).lent["keep"]?.bool == false) }
    #expect(try ask(stage).lent["keep"] == nil)
  }

  @Test func `nobody is to keep what was purged on its way`() throws {
    let stage = try CoreStage()
    let gate = Gate()
    stage.origin.plan("/a", .held(at: gate, then: .picture(png())))
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/a","deliver":"fd"}"#)
    let other = try stage.connect()
    #expect(try other.ask(#"{"cmd":"purge"}"#)["ok"] == true)
    gate.open()
    let line = try stage.client.receive()
    close(try #require(stage.client.takeDescriptor()))
    #expect(line["fds"]?.array?.first?["keep"]?.bool == false)
  }

  @Test func `another form has a checksum of its own, and the date of its picture`() throws {
    let stage = try stage([("Last-Modified", Self.date)], TestPicture.png(width: 100, height: 50))
    let original = try ask(stage).lent
    let (made, source) = try ask(stage, Self.thumbnail)
    #expect(source == "memory")
    #expect(made["checksum"]?.string?.utf8.count == 16)
    #expect(made["checksum"] != original["checksum"] && made["modified"] == original["modified"])
    #expect(try ask(stage, Self.thumbnail).lent == made)
    try stage.emptyMemory()
    #expect(try ask(stage, Self.thumbnail) == (made, "disk"))
    #expect(stage.decoding.orders.count == 1)
  }

  @Test func `a fetch that is collected later tells the same`() throws {
    let stage = try stage([("Last-Modified", Self.date)])
    let receipt = "c1f7f2a4-51c9-4e0c-b0a6-0a4f0e2c7d02"
    _ = try stage.client.ask(
      #"{"cmd":"fetch","id":1,"url":"\#(stage.base)/a","receipt":"\#(receipt)","wait":false}"#)
    stage.settle()
    let line = try stage.client.ask(
      #"{"cmd":"wait","id":2,"receipt":"\#(receipt)","deliver":"fd"}"#)
    close(try #require(stage.client.takeDescriptor()))
    #expect(line["fds"]?.array?.first == (try ask(stage).lent))
  }

  @Test func `pixels have neither`() throws {
    let stage = try stage([], TestPicture.png(width: 100, height: 50))
    let line = try stage.ask("/a", #""deliver":"pixels""#)
    close(try #require(stage.client.takeDescriptor()))
    let pixels = try #require(line["fds"]?.array?.first)
    #expect(["checksum", "modified", "keep"].allSatisfy { pixels[$0] == nil })
  }
}
