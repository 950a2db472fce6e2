import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct IndexOpeningTests {
  private let sample: SampleIndex

  init() throws { sample = try SampleIndex() }

  private func closed(_ rows: [IndexRow] = [sampleRow(1)]) throws {
    let index = try sample.open()
    try index.add(rows)
    try index.close(clean: true)
  }

  @Test func `opening tells whether the last writer closed the index`() throws {
    let first = try sample.open()
    #expect(first.wasClean)
    try first.close(clean: true)
    #expect(try sample.open(.readOnly).wasClean)
    let second = try sample.open()
    #expect(second.wasClean)
    // A kill would leave it so.
    #expect(try !sample.open(.readOnly).wasClean)
    try second.close(clean: false)
    let third = try sample.open()
    #expect(!third.wasClean)
    try third.close(clean: true)
    #expect(try sample.open().wasClean)
  }

  @Test func `closing leaves a single file, which only its owner can read`() throws {
    let index = try sample.open()
    try index.add([sampleRow(1)])
    for part in ["", "-wal"] {
      var status = stat()
      #expect(lstat(sample.path + part, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    // A file there would be mapped, and another program that cuts it would end the process.
    #expect(access(sample.path + "-shm", F_OK) != 0)
    try index.close(clean: true)
    #expect(access(sample.path + "-wal", F_OK) != 0)
    #expect(problem { try index.add([sampleRow(2)]) }?.systemErrno == 0)
    #expect(problem { _ = try index.entries.entries(after: 0, limit: 1) }?.systemErrno == 0)

    chmod(sample.path, 0o644)
    try sample.open().close(clean: true)
    var status = stat()
    #expect(lstat(sample.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test func `a reader sees exactly the committed rows`() throws {
    let writer = try sample.open()
    let reader = try sample.open(.readOnly)
    let number = try writer.write { () throws(IndexProblem) in
      let number = try writer.entries.insert(sampleRow(1), retiring: 0).number
      #expect(try reader.entries.row(number: number) == nil)
      return number
    }
    #expect(try reader.entries.row(number: number)?.record.url == sampleRow(1).record.url)
    try writer.add([sampleRow(2)])
    #expect(try reader.entries.entries(after: 0, limit: 9).count == 2)
    #expect(problem { try reader.add([sampleRow(3)]) } != nil)
    try reader.close(clean: false)
    try writer.close(clean: true)
  }

  @Test func `a write during another writer's transaction is refused as busy`() throws {
    let first = try sample.open()
    let second = try sample.open()
    try first.write { () throws(IndexProblem) in
      #expect(problem { try second.add([sampleRow(1)]) }?.isBusy == true)
    }
    try second.add([sampleRow(1)])
  }

  @Test func `a layout of a later version is refused`() throws {
    try closed()
    let later = IndexSchema.version + 1
    try sample.sql("PRAGMA user_version = \(later)")
    for access in [IndexFile.Access.readWrite, .readOnly] {
      guard case .fromTheFuture(later) = problem({ _ = try sample.open(access) }) else {
        Issue.record("it was opened")
        return
      }
    }
  }

  @Test func `an index of the layout before is taken over, and its entries have no owner`() throws {
    try closed()
    let rows = try sample.contents().rows
    try sample.sql("PRAGMA user_version = 9")
    #expect(try sample.open(.readOnly).entries.entries(after: 0, limit: 9).count == rows.count)
    let index = try sample.open()
    #expect(try index.entries.entries(after: 0, limit: 9).allSatisfy { $0.owner == EntryOwner.nobody })
    #expect(try index.entries.entries(after: 0, limit: 9).count == rows.count)
    try index.close(clean: true)
    let problem = problem {
      try sample.sql("PRAGMA user_version = \(IndexSchema.version)")
      _ = try sample.open()
    }
    #expect(problem == nil)
  }

  @Test(arguments: [
    "PRAGMA user_version = 0", "PRAGMA user_version = 6", "PRAGMA user_version = -1",
    "PRAGMA application_id = 7",
    "DROP TABLE tag", "DROP INDEX picture_url", "CREATE TABLE more (x)",
    "CREATE VIEW more AS SELECT * FROM entry", "ALTER TABLE entry ADD COLUMN more INTEGER",
    "CREATE TRIGGER more AFTER DELETE ON entry BEGIN DELETE FROM pending_unlink; END",
    "DELETE FROM state", "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "UPDATE sqlite_sequence SET seq = 'x'", "UPDATE entry SET number = 4294967296",
  ])
  func `an index that another program has changed counts as damaged`(_ change: String) throws {
    try closed()
    try sample.sql(change)
    #expect(problem { _ = try sample.open() }?.isDamage == true)
  }

  @Test func `a file that SQLite cannot read counts as damaged`() throws {
    for text in ["x", String(repeating: "This is a text. ", count: 1000)] {
      try overwrite(sample.path, Array(text.utf8))
      #expect(problem { _ = try sample.open() }?.isDamage == true)
      #expect(problem { _ = try sample.open(.readOnly) }?.isDamage == true)
    }
    unlink(sample.path)
    mkdir(sample.path, 0o700)
    #expect(problem { _ = try sample.open() }?.isDamage == true)
    rmdir(sample.path)
    try write("", to: sample.directory + "/other")
    symlink(sample.directory + "/other", sample.path)
    #expect(problem { _ = try sample.open() }?.isDamage == true)
    #expect(readBytes(sample.directory + "/other") == [])
  }

  @Test func `an empty file becomes a new index, which does not count as clean`() throws {
    try overwrite(sample.path, [])
    let index = try sample.open()
    #expect(!index.wasClean)
    try index.add([sampleRow(1)])
  }

  @Test func `a missing directory or file is reported with the reason of the system`() throws {
    #expect(problem { _ = try sample.open(.readOnly) }?.systemErrno == ENOENT)
    let path = sample.directory + "/none/index.db"
    let missing = problem { _ = try IndexFile(path: path, access: .readWrite) }
    #expect(missing?.systemErrno == ENOENT)
    #expect(missing?.description.hasSuffix("index.db: No such file or directory") == true)
  }

  @Test func `a new index begins after the old file was set aside over an earlier one`() throws {
    for round in 1...3 {
      try overwrite(sample.path, Array("text \(round)".utf8))
      try overwrite(sample.path + "-wal", [UInt8](repeating: 7, count: 99))
      try IndexPlace.setAside(path: sample.path)
      #expect(read(sample.path + ".aside") == "text \(round)")
      let index = try sample.open()
      #expect(try index.entries.entries(after: 0, limit: 9).isEmpty)
      try index.close(clean: true)
    }
    try IndexPlace.setAside(path: sample.path)
    try IndexPlace.setAside(path: sample.path)
    #expect(access(sample.path, F_OK) != 0)
  }
}
