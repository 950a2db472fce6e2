internal import CSQLite

/// The tables of the index file, and the check that a file has exactly these.
///
/// `entry` has all that a scan needs, in rows of fixed size; its `base` is the same for answers to one name that
/// depend on the request, or for forms of one picture, and zero for others. `plain` has the flags of an entry
/// (`EntryFlags`), of which that is the first, and its owner. `picture` has the names that are searched for and the stored record.
/// Both are sealed: SQLite does not notice a changed byte inside a value, and an answer must not be wrong. `tag` is
/// for purges, `removal` holds purges still to be carried out, `pending_unlink` the files that no entry needs any
/// more. Independent of all these are `fleet_position`, the last purge of other hosts that is in force here, and
/// `fleet_purge`, the purges of which the other hosts still have to be told.
enum IndexSchema {
  static let version = 10
  /// Its rows can be read as they are: they have no owner.
  private static let earlier = 9
  /// "imgd", by which `file` and this program recognise the file.
  static let applicationID = 0x696D_6764

  /// SQLite stores these texts exactly as they stand here, and they are compared when a file is opened.
  private static let definitions = [
    """
    CREATE TABLE entry (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      digest BLOB NOT NULL UNIQUE,
      bytes INTEGER NOT NULL,
      allocated INTEGER NOT NULL,
      stored_at INTEGER NOT NULL,
      last_access INTEGER NOT NULL,
      fresh_until INTEGER NOT NULL,
      format INTEGER NOT NULL,
      orientation INTEGER NOT NULL,
      width INTEGER NOT NULL,
      height INTEGER NOT NULL,
      frames INTEGER NOT NULL,
      modified INTEGER NOT NULL,
      checksum INTEGER NOT NULL,
      plain INTEGER NOT NULL,
      base INTEGER NOT NULL,
      seal INTEGER NOT NULL
    ) STRICT
    """, "CREATE INDEX entry_base ON entry (base) WHERE base > 0",
    """
    CREATE TABLE picture (
      number INTEGER PRIMARY KEY,
      url TEXT NOT NULL,
      host TEXT NOT NULL,
      identifier TEXT,
      suffix TEXT NOT NULL,
      record BLOB NOT NULL,
      seal INTEGER NOT NULL
    ) STRICT
    """, "CREATE INDEX picture_url ON picture (url)", "CREATE INDEX picture_host ON picture (host)",
    """
    CREATE TABLE tag (
      tag TEXT NOT NULL,
      number INTEGER NOT NULL,
      PRIMARY KEY (tag, number)
    ) STRICT, WITHOUT ROWID
    """, "CREATE INDEX tag_number ON tag (number)",
    """
    CREATE TABLE removal (
      id INTEGER PRIMARY KEY,
      url TEXT,
      identifier TEXT,
      prefix TEXT,
      host TEXT,
      tag TEXT,
      older_than INTEGER,
      unused_for INTEGER,
      digest BLOB,
      expired INTEGER NOT NULL,
      soft INTEGER NOT NULL,
      asked_at INTEGER NOT NULL,
      ceiling INTEGER NOT NULL,
      keep_until INTEGER NOT NULL,
      seal INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE pending_unlink (
      number INTEGER PRIMARY KEY,
      digest BLOB NOT NULL,
      suffix TEXT NOT NULL,
      keep_until INTEGER NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE fleet_position (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      record BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE fleet_purge (
      id INTEGER PRIMARY KEY,
      nonce INTEGER NOT NULL UNIQUE,
      record BLOB NOT NULL
    ) STRICT
    """,
    """
    CREATE TABLE state (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      clean INTEGER NOT NULL
    ) STRICT
    """,
  ]

  /// Whether the file has no tables: it is new, or a kill came before they were made.
  static func isBlank(_ connection: Connection) throws(IndexProblem) -> Bool {
    guard try connection.number("application_id") == 0 else { return false }
    guard try connection.number("user_version") == 0 else { return false }
    return try found(in: connection).isEmpty
  }

  static func create(in connection: Connection, isClean: Bool) throws(IndexProblem) {
    try connection.execute("BEGIN IMMEDIATE")
    for text in definitions { try connection.execute(text) }
    // The numbers of files begin anywhere: when another file system is mounted on the directory, a path that was handed out
    // must not lead to an older picture there.
    try connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('entry', \(Int.random(in: 0..<1 << 28)))")
    try connection.execute("INSERT INTO state (one, clean) VALUES (1, \(isClean ? 1 : 0))")
    try connection.execute("PRAGMA user_version = \(version)")
    try connection.execute("PRAGMA application_id = \(applicationID)")
    try connection.execute("COMMIT")
  }

  static func verify(_ connection: Connection) throws(IndexProblem) {
    guard try connection.number("application_id") == applicationID else {
      throw .damaged("another program has made it")
    }
    let found = try connection.number("user_version")
    guard found <= version else { throw .fromTheFuture(found) }
    guard found == version || found == earlier else { throw .damaged("it has layout \(found)") }
    guard try connection.word("encoding") == "UTF-8" else { throw .damaged("it is not UTF-8") }
    guard try Self.found(in: connection) == definitions.sorted() else {
      throw .damaged("it has other tables than layout \(version)")
    }
    try verifyNumbers(connection)
  }

  /// Keeps an earlier release from reading a file that it would take for a damaged one.
  static func raise(_ connection: Connection) throws(IndexProblem) {
    guard try connection.number("user_version") == earlier else { return }
    try connection.execute("PRAGMA user_version = \(version)")
  }

  /// Refuses forged numbers of entries: if no higher number were left, it would look like a full disk.
  private static func verifyNumbers(_ connection: Connection) throws(IndexProblem) {
    for text in [
      "SELECT seq FROM sqlite_sequence WHERE name = 'entry'", "SELECT number FROM entry ORDER BY number DESC LIMIT 1",
    ] {
      let statement = try connection.prepare(text)
      if try statement.step() { _ = try statement.integer(UInt32.self) }
    }
  }

  private static func found(in connection: Connection) throws(IndexProblem) -> [String] {
    let statement = try connection.prepare("SELECT sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'")
    return try statement.all { (row) throws(IndexProblem) in try row.textOrNull() ?? "" }.sorted()
  }
}

enum IndexQuery: Int, CaseIterable {
  case begin, beginWrite, commit, rollback
  case readClean, writeClean

  case entryByDigest, entryByNumber, entriesOfBase, entries, numbers, lastNumber, subdirectory
  case row, untaggedRow, pageURLs, pageOfURL, pageOfTags, tags
  case insertEntry, insertPicture, insertTag
  case renewEntry, renewPicture, touch, refresh, shedEntry
  case removeEntry, removePicture, removeTags

  case addUnlink, dueUnlinks, nextUnlink, isPendingUnlink, forgetUnlink
  case addRemoval, removals, removeRemoval
  case fleetPosition, writeFleetPosition, fleetPurges, writeFleetPurge, removeFleetPurge, removeFleetPurges

  var text: String {
    switch self {
    case .begin: "BEGIN"
    case .beginWrite: "BEGIN IMMEDIATE"
    case .commit: "COMMIT"
    case .rollback: "ROLLBACK"
    case .readClean: "SELECT clean FROM state WHERE one = 1"
    case .writeClean: "UPDATE state SET clean = ? WHERE one = 1"

    case .entryByDigest: Self.selectEntry + " WHERE digest = ?"
    case .entryByNumber: Self.selectEntry + " WHERE number = ?"
    case .entriesOfBase: Self.selectEntry + " WHERE base = ? AND base > 0 ORDER BY number DESC LIMIT ?"
    case .entries: Self.selectEntry + " WHERE number > ? ORDER BY number LIMIT ?"
    case .numbers: "SELECT number FROM entry WHERE number <= ? ORDER BY number LIMIT ?"
    case .lastNumber: "SELECT number FROM entry ORDER BY number DESC LIMIT 1"
    case .subdirectory: "SELECT number, digest, allocated FROM entry WHERE digest BETWEEN ? AND ? AND NOT plain & 4"
    case .row: "SELECT url, host, identifier, suffix, record, seal FROM picture WHERE number = ?"
    case .untaggedRow:
      """
      SELECT \(Self.entryColumns), url, host, identifier, suffix, record, picture.seal
      FROM entry JOIN picture USING (number)
      WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.number = ?1)
      """
    case .pageURLs: "SELECT number, url FROM entry LEFT JOIN picture USING (number) WHERE number > ? ORDER BY number"
    case .pageOfURL: "SELECT number, url FROM picture WHERE number > ? AND url = ? ORDER BY number"
    case .pageOfTags:
      """
      SELECT number, url FROM (
        SELECT number FROM tag WHERE tag = ?2 AND number > ?1 UNION
        SELECT number FROM tag WHERE tag = ?3 AND number > ?1 UNION
        SELECT number FROM tag WHERE tag = ?4 AND number > ?1 UNION
        SELECT number FROM tag WHERE tag = ?5 AND number > ?1 ORDER BY number
      ) CROSS JOIN picture USING (number)
      """
    case .tags: "SELECT tag FROM tag WHERE number = ? ORDER BY tag"

    case .insertEntry:
      """
      INSERT INTO entry (digest, bytes, allocated, stored_at, last_access, fresh_until, format,
        orientation, width, height, frames, modified, checksum, plain, base, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .insertPicture:
      "INSERT INTO picture (number, url, host, identifier, suffix, record, seal) VALUES (?, ?, ?, ?, ?, ?, ?)"
    case .insertTag: "INSERT INTO tag (tag, number) VALUES (?, ?)"

    case .renewEntry:
      """
      UPDATE entry SET stored_at = ?, last_access = ?, fresh_until = ?, modified = ?,
        plain = ?, base = ?, seal = ?
      WHERE number = ?
      """
    case .renewPicture: "UPDATE picture SET record = ?, seal = ? WHERE number = ?"
    case .touch: "UPDATE entry SET last_access = ? WHERE number = ?"
    case .refresh: "UPDATE entry SET fresh_until = ?, seal = ? WHERE number = ?"
    case .shedEntry: "UPDATE entry SET allocated = ?, plain = ?, seal = ? WHERE number = ?"

    case .removeEntry: "DELETE FROM entry WHERE number = ?"
    case .removePicture: "DELETE FROM picture WHERE number = ?"
    case .removeTags: "DELETE FROM tag WHERE number = ?"

    case .addUnlink:
      """
      INSERT INTO pending_unlink (number, digest, suffix, keep_until)
      SELECT number, digest, suffix, ? FROM entry JOIN picture USING (number) WHERE number = ?
      ON CONFLICT (number) DO UPDATE SET keep_until = max(keep_until, excluded.keep_until)
      RETURNING digest, suffix
      """
    case .dueUnlinks:
      """
      SELECT number, digest, suffix, keep_until FROM pending_unlink
      WHERE number > ? AND keep_until <= ? ORDER BY number LIMIT ?
      """
    case .nextUnlink: "SELECT min(keep_until) FROM pending_unlink WHERE keep_until > ?"
    case .isPendingUnlink: "SELECT 1 FROM pending_unlink WHERE number = ? AND digest = ?"
    case .forgetUnlink: "DELETE FROM pending_unlink WHERE number = ?"

    case .addRemoval:
      """
      INSERT INTO removal (url, identifier, prefix, host, tag, older_than, unused_for, digest,
        expired, soft, asked_at, ceiling, keep_until, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .removals:
      """
      SELECT id, url, identifier, prefix, host, tag, older_than, unused_for, digest, expired,
        soft, asked_at, ceiling, keep_until, seal
      FROM removal ORDER BY id
      """
    case .removeRemoval: "DELETE FROM removal WHERE id = ?"

    case .fleetPosition: "SELECT record FROM fleet_position WHERE one = 1"
    case .writeFleetPosition: "INSERT OR REPLACE INTO fleet_position (one, record) VALUES (1, ?)"
    case .fleetPurges: "SELECT nonce, record FROM fleet_purge ORDER BY id LIMIT ?"
    case .writeFleetPurge: "INSERT OR REPLACE INTO fleet_purge (nonce, record) VALUES (?, ?)"
    case .removeFleetPurge: "DELETE FROM fleet_purge WHERE nonce = ?"
    case .removeFleetPurges: "DELETE FROM fleet_purge"
    }
  }

  private static let selectEntry = "SELECT \(entryColumns) FROM entry"
  private static let entryColumns = """
    number, digest, bytes, allocated, stored_at, last_access, fresh_until, format, orientation, width,
    height, frames, modified, checksum, plain, base, entry.seal
    """
}
