import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdFleet

@Suite(.eachServer) struct DefectTests {
  private func defect(_ bench: FleetBench, _ serial: UInt64) throws -> FleetDefect {
    try bench.next("defect") { event in
      if case .defect(serial, let defect) = event { defect } else { nil }
    }
  }

  /// A value as a host has stored it.
  private func value(of picture: TestedPicture, on server: RedisServer) throws -> [UInt8] {
    let bench = try FleetBench(on: server)
    _ = try bench.store(picture, generation: try server.generation())
    return try #require(try server.command("GET", key(picture.digest)).bytes)
  }

  private func expectDeletion(
    _ server: RedisServer, _ wanted: FleetDefect, _ digest: KeyDigest,
    _ comment: Comment? = nil
  ) throws {
    let bench = try FleetBench(on: server)
    let serial = bench.begin(digest)
    #expect(try defect(bench, serial) == wanted, comment)
    guard case .claimed = try bench.answer(serial) else { throw TestFailure("it is not claimed") }
    #expect(try server.command("GETRANGE", key(digest), "0", "0").text == "#", comment)
    bench.engine.release(serial: serial, removing: false)
    try server.wait("release") { try server.command("EXISTS", key(digest)) == .number(0) }
  }

  private func set(_ bytes: [UInt8], under digest: KeyDigest, on server: RedisServer) throws {
    try server.command([Array("SET".utf8), Array(key(digest).utf8), bytes])
  }

  @Test func `values that are not in order are deleted, and their pictures claimed`() throws {
    let server = try RedisServer()
    let picture = TestedPicture()
    let bytes = try value(of: picture, on: server)
    try set(Array("hello".utf8), under: picture.digest, on: server)
    try expectDeletion(server, .foreign, picture.digest, "a word")
    try set(Array(bytes.dropLast()), under: picture.digest, on: server)
    try expectDeletion(server, .damaged, picture.digest, "a cut one")
    var flipped = bytes
    flipped[flipped.count - 1] ^= 1
    try set(flipped, under: picture.digest, on: server)
    try expectDeletion(server, .damaged, picture.digest, "a changed one")
    let other = TestedPicture("http://o/b").digest
    try set(bytes, under: other, on: server)
    try expectDeletion(server, .foreign, other, "another URL's")
    try set([UInt8](repeating: 65, count: 2 << 20), under: picture.digest, on: server)
    try expectDeletion(server, .tooLarge, picture.digest, "a large one")
    try set([], under: picture.digest, on: server)
    try expectDeletion(server, .damaged, picture.digest, "an empty one")
    try server.command("RPUSH", key(picture.digest), "a")
    try expectDeletion(server, .foreign, picture.digest, "a list")
  }

  @Test func `what has come in the place of a defect is not deleted`() throws {
    let server = try RedisServer()
    try server.command("SET", "imgd:p:x", "other")
    let outcome = try server.command(
      "EVAL", FleetScript.discard.rawValue, "1", "imgd:p:x", "hello")
    #expect(outcome == .number(0))
    #expect(try server.command("GET", "imgd:p:x").text == "other")
  }

}
