import ImgdCache
import Testing

@testable import ImgdFleet

struct PurgeEntryTests {
  private let plain = ["v", "1", "nonce", "9", "by", "h", "at", "5000", "soft", "0"]

  private func read(_ fields: [String]) -> PurgeEntry? {
    PurgeEntry(fields.map { .bytes(Array($0.utf8)) }, serverNow: 8_000, wallNow: 100)
  }

  @Test func `an entry says when it was asked for by this machine's clock`() throws {
    let entry = try #require(read(plain))
    #expect(entry.purge == FleetPurge(PurgeFilter(), isSoft: false, askedAt: 97, nonce: 9))
    #expect(entry.askedAt == 5_000)
    let early = try #require(
      PurgeEntry(plain.map { .bytes(Array($0.utf8)) }, serverNow: 10, wallNow: 100))
    #expect(early.purge.askedAt == 100, "a clock that is behind")
  }

  @Test func `an entry is read as it was written`() throws {
    var filter = PurgeFilter()
    filter.url = try CanonicalURL.parse("http://o/%7E")
    (filter.identifier, filter.prefix, filter.host, filter.tag) = ("", "http", "o", "ß")
    filter.olderThan = .milliseconds(1)
    let purge = FleetPurge(filter, isSoft: true, askedAt: 97, nonce: .max)
    let written = PurgeEntry(purge, askedAt: 5_000, host: "h")
    #expect(read(written.fields) == written)
  }

  @Test(arguments: [
    ["v", "2"], ["nonce", "-1"], ["nonce", ""], ["at", "x"], ["at", "-1"], ["soft", "2"],
    ["at", "99999999999999999"],
  ])
  func `an entry with another value is none`(change: [String]) {
    var fields = plain
    let place = fields.firstIndex(of: change[0]) ?? 0
    fields[place + 1] = change[1]
    #expect(read(fields) == nil)
  }

  @Test(arguments: [
    ["new", "1"], ["url", "HTTP://o/"], ["url", "ftp://o/"], ["url", ""], ["older", "-1"],
    ["older", "9223372036854775807"], ["soft", "0"], ["tag"], ["tag", "a", "tag", "b"],
  ])
  func `an entry with anything that is not understood is none`(more: [String]) {
    #expect(read(plain + more) == nil)
  }

  @Test func `an entry lacks nothing, and is text throughout`() {
    for place in stride(from: 0, to: plain.count, by: 2) {
      var fields = plain
      fields.removeSubrange(place..<place + 2)
      #expect(read(fields) == nil)
    }
    let broken =
      plain.map { RedisReply.bytes(Array($0.utf8)) } + [.bytes([116, 97, 103]), .bytes([255])]
    #expect(PurgeEntry(broken, serverNow: 0, wallNow: 0) == nil)
    #expect(PurgeEntry([.number(1), .nothing], serverNow: 0, wallNow: 0) == nil)
  }
}
