import ImgdTestSupport
import Testing

@testable import ImgdCache

struct FleetRowsTests {
  private let sample: SampleIndex

  init() throws { sample = try SampleIndex() }

  private func write(
    _ index: IndexFile, _ body: (FleetRows) throws(IndexProblem) -> Void
  ) throws(IndexProblem) {
    try index.write { () throws(IndexProblem) in try body(index.fleet) }
  }

  static let position = FleetPosition(generation: .max, number: 301, nonce: 1 << 63)

  /// Every condition that a purge for all hosts may have, and none.
  static let purges: [FleetPurge] = {
    var filters = [PurgeFilter](repeating: PurgeFilter(), count: 7)
    filters[0].url = CanonicalURL(canonical: url(0))
    filters[1].identifier = ""
    filters[2].prefix = "https://example.org/é"
    filters[3].host = "example.org"
    filters[4].tag = "t"
    filters[5].olderThan = .seconds(86_400)
    return filters.enumerated().map { place, filter in
      FleetPurge(
        filter, isSoft: place.isMultiple(of: 2), askedAt: 1_800_000_000 + Int64(place),
        nonce: .max - UInt64(place))
    }
  }()

  @Test func `a new index has no notes`() throws {
    #expect(try sample.open().fleet.all() == FleetNotes())
  }

  @Test func `notes are read as they were written, in their order`() throws {
    let index = try sample.open()
    try write(index) { (rows) throws(IndexProblem) in
      for purge in Self.purges { try rows.put(purge) }
      try rows.put(FleetPosition(generation: 1, number: 2, nonce: 3))
      try rows.put(Self.position)
    }
    try index.close(clean: true)
    let again = try sample.open()
    var notes = FleetNotes()
    (notes.position, notes.purges) = (Self.position, Self.purges)
    #expect(try again.fleet.all() == notes)
    try write(again) { (rows) throws(IndexProblem) in
      try rows.remove(Self.purges[1].nonce)
      try rows.remove(Self.purges[1].nonce)
    }
    notes.purges.remove(at: 1)
    #expect(try again.fleet.all() == notes)
    try write(again) { (rows) throws(IndexProblem) in try rows.removeAll() }
    notes.purges = []
    #expect(try again.fleet.all() == notes)
  }

  @Test(arguments: [
    "UPDATE fleet_position SET record = x''",
    "UPDATE fleet_position SET record = zeroblob(33)",
    "UPDATE fleet_position SET record = cast(record || x'00' AS BLOB)",
    "UPDATE fleet_position SET record = substr(record, 1, length(record) - 1)",
    """
    UPDATE fleet_position
    SET record = cast(substr(record, 1, 12) || x'00' || substr(record, 14) AS BLOB)
    """,
    "DELETE FROM fleet_position",
  ])
  func `a damaged position is none`(_ change: String) throws {
    let index = try sample.open()
    try write(index) { (rows) throws(IndexProblem) in
      try rows.put(Self.position)
      try rows.put(Self.purges[0])
    }
    try index.close(clean: true)
    try sample.sql(change)
    let notes = try sample.open().fleet.all()
    #expect(notes.position == nil && notes.purges == [Self.purges[0]] && notes.damaged == 0)
  }

  @Test(arguments: [
    "UPDATE fleet_purge SET record = x'' WHERE id = 2",
    "UPDATE fleet_purge SET record = zeroblob(2000000) WHERE id = 2",
    "UPDATE fleet_purge SET record = (SELECT record FROM fleet_position) WHERE id = 2",
  ])
  func `damaged purges are counted, and the others are read`(_ change: String) throws {
    let index = try sample.open()
    try write(index) { (rows) throws(IndexProblem) in
      for purge in Self.purges { try rows.put(purge) }
      try rows.put(Self.position)
    }
    try index.close(clean: true)
    try sample.sql(change)
    let notes = try sample.open().fleet.all()
    #expect(notes.position == Self.position && notes.damaged == 1)
    #expect(notes.purges == [Self.purges[0]] + Self.purges[2...])
  }

  @Test func `no more rows are read than this program writes`() throws {
    let index = try sample.open()
    try write(index) { (rows) throws(IndexProblem) in
      for nonce in 0..<UInt64(FleetRows.mostRead + 10) {
        try rows.put(FleetPurge(PurgeFilter(), isSoft: true, askedAt: 0, nonce: nonce))
      }
    }
    #expect(try index.fleet.all().purges.count == FleetRows.mostRead)
  }
}
