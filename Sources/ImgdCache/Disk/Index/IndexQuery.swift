/// The statements that are prepared once and used again and again, with their texts.
enum IndexQuery: Int, CaseIterable {
  case begin, beginWrite, commit, rollback
  case readClean, writeClean

  case entryByDigest, entryByNumber, entriesOfBase, entries, numbers, lastNumber, subdirectory
  case row, untaggedRow, pageURLs, tags
  case insertEntry, insertPicture, insertTag
  case renewEntry, renewPicture, touch, refresh
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
    case .subdirectory: "SELECT number, digest, allocated FROM entry WHERE digest BETWEEN ? AND ?"
    case .row: "SELECT url, host, identifier, suffix, record, seal FROM picture WHERE number = ?"
    case .untaggedRow:
      """
      SELECT \(Self.entryColumns), url, host, identifier, suffix, record, picture.seal
      FROM entry JOIN picture USING (number)
      WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM tag WHERE tag.number = ?1)
      """
    case .pageURLs:
      """
      SELECT number, url FROM entry LEFT JOIN picture USING (number)
      WHERE number > ? ORDER BY number
      """
    case .tags: "SELECT tag FROM tag WHERE number = ? ORDER BY tag"

    case .insertEntry:
      """
      INSERT INTO entry (digest, bytes, allocated, stored_at, last_access, fresh_until, format,
        orientation, width, height, frames, modified, checksum, plain, base, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .insertPicture:
      """
      INSERT INTO picture (number, url, host, identifier, suffix, record, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """
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

    case .removeEntry: "DELETE FROM entry WHERE number = ?"
    case .removePicture: "DELETE FROM picture WHERE number = ?"
    case .removeTags: "DELETE FROM tag WHERE number = ?"

    case .addUnlink:
      """
      INSERT INTO pending_unlink (number, digest, suffix, keep_until)
      SELECT number, digest, suffix, ? FROM entry JOIN picture USING (number) WHERE number = ?
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
