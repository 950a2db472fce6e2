import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache
@testable import ImgdFleet

/// What one release writes for the next into the fleet's server, byte by byte: hosts of both use it at one time.
struct SharedLayoutTests {
  private static let values = [TestedPicture(count: 100), TestedPicture.answer()].map { tested in
    FleetValue(
      begunAt: 1_700_000_000_123, storedAt: 1_700_000_000_456,
      mark: FleetPosition(generation: .max, number: 3, nonce: 1 << 63), stamp: 0x1122_3344_5566, record: tested.record,
      payload: tested.payload)
  }

  /// A record in the row of a value has a layout of its own: hosts that know an older one would delete the value as damaged,
  /// and others would store it again, for ever, unless the value's layout is newer as well.
  @Test(arguments: values)
  func `a value is written in the layout that its number says`(value: FleetValue) throws {
    let now = LayoutFixture.hex(try #require(value.front) + value.payload.bytes)
    let fixture = try LayoutFixture("fleet-value-\(value.layout).hex", ofNow: now)
    #expect(try fixture.text == now, "\(layoutHasChanged)")
  }

  @Test(arguments: LayoutFixture.all("fleet-value"))
  func `a value of each release is read`(fixture: LayoutFixture) throws {
    let written = try #require(Self.values.first { Int($0.layout) == fixture.number })
    let read = try FleetValue.decode(ArrivedValue(fixture.bytes), under: written.record.digest).get()
    #expect(read.front == written.front && read.payload.bytes == written.payload.bytes)
    #expect(read.record.url == written.record.url && read.mark == written.mark && read.begunAt == written.begunAt)
  }

  private static let purge: PurgeEntry = {
    var filter = PurgeFilter()
    filter.url = try? CanonicalURL.parse("http://o/%7E")
    (filter.identifier, filter.prefix, filter.host, filter.tag) = ("", "http", "o", "ß")
    filter.olderThan = .milliseconds(1)
    return PurgeEntry(
      FleetPurge(filter, isSoft: true, askedAt: 97, nonce: .max), askedAt: 5_000, host: "h")
  }()

  private static func lines(_ words: [String]) -> String { words.map { $0 + "\n" }.joined() }

  @Test func `an entry of the log of purges is written as its number says`() throws {
    let now = Self.lines(Self.purge.fields)
    let fixture = try LayoutFixture("fleet-purge-1.txt", ofNow: now)
    #expect(try fixture.text == now, "\(layoutHasChanged)")
  }

  @Test(arguments: LayoutFixture.all("fleet-purge"))
  func `an entry of the log of each release is read`(fixture: LayoutFixture) throws {
    let fields = try fixture.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    let read = PurgeEntry(fields.map { .bytes(Array($0.utf8)) }, serverNow: 8_000, wallNow: 100)
    #expect(read == Self.purge)
  }

  /// They have no number: what is not known is passed over, and what was known has to stay.
  @Test func `notes of hosts and claims are read, and written as ever`() throws {
    let note = HostNote.sample()
    let claim = PictureClaim(Self.values[0].record.digest, .missing, host: "ab12", number: 7)
    let fixture = try LayoutFixture("fleet-note-1.txt", ofNow: note.text(at: 1_000) + "\(claim.token)\n")
    #expect(try fixture.text == note.text(at: 1_000) + "#ab12:7\n", "\(layoutHasChanged)")
    let text = try fixture.text.split(separator: "\n").dropLast().joined(separator: "\n")
    #expect(HostNote.read(Array(text.utf8))?.line == note)
  }
}
