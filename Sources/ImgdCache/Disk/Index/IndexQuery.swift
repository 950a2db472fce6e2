/// Every statement that is used again and again, with its text.
enum IndexQuery: Int, CaseIterable {
  case begin, beginWrite, commit, rollback
  case readClean, writeClean, readCleared, writeCleared

  case recordByDigest, recordByNumber, records, numbers, lastNumber, shelf, row, pageURLs, tags
  case insertEntry, insertPicture, insertTag
  case renewEntry, renewPicture, touch, refresh

  case doom, removeEntry, removePicture, removeTags
  case doomed, isDoomed, nextDoom, forget

  var text: String {
    switch self {
    case .begin: "BEGIN"
    case .beginWrite: "BEGIN IMMEDIATE"
    case .commit: "COMMIT"
    case .rollback: "ROLLBACK"
    case .readClean: "SELECT clean FROM state WHERE one = 1"
    case .writeClean: "UPDATE state SET clean = ? WHERE one = 1"
    case .readCleared: "SELECT cleared FROM state WHERE one = 1"
    case .writeCleared: "UPDATE state SET cleared = ? WHERE one = 1"

    case .recordByDigest: Self.selectRecord + " WHERE digest = ?"
    case .recordByNumber: Self.selectRecord + " WHERE number = ?"
    case .records: Self.selectRecord + " WHERE number > ? ORDER BY number LIMIT ?"
    case .numbers: "SELECT number FROM entry WHERE number <= ? ORDER BY number LIMIT ?"
    case .lastNumber: "SELECT number FROM entry ORDER BY number DESC LIMIT 1"
    case .shelf: "SELECT number, digest, allocated FROM entry WHERE digest BETWEEN ? AND ?"
    case .row:
      """
      SELECT url, host, identifier, checksum, status, headers, final_url, initial_age_ms,
        lifetime_ms, while_revalidate_ms, if_error_ms, freshness_flags, varying, suffix, seal
      FROM picture WHERE number = ?
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
        orientation, width, height, frames, flags, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .insertPicture:
      """
      INSERT INTO picture (number, url, host, identifier, checksum, status, headers, final_url,
        initial_age_ms, lifetime_ms, while_revalidate_ms, if_error_ms, freshness_flags, varying,
        suffix, seal)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    case .insertTag: "INSERT INTO tag (tag, number) VALUES (?, ?)"

    case .renewEntry:
      """
      UPDATE entry SET stored_at = ?, last_access = ?, fresh_until = ?, flags = ?, seal = ?
      WHERE number = ?
      """
    case .renewPicture:
      """
      UPDATE picture SET status = ?, headers = ?, final_url = ?, initial_age_ms = ?,
        lifetime_ms = ?, while_revalidate_ms = ?, if_error_ms = ?, freshness_flags = ?,
        varying = ?, seal = ?
      WHERE number = ?
      """
    case .touch: "UPDATE entry SET last_access = ? WHERE number = ?"
    case .refresh: "UPDATE entry SET fresh_until = ?, seal = ? WHERE number = ?"

    case .doom:
      """
      INSERT INTO doomed (number, digest, suffix, keep_until)
      SELECT number, digest, suffix, ? FROM entry JOIN picture USING (number) WHERE number = ?
      RETURNING digest, suffix
      """
    case .removeEntry: "DELETE FROM entry WHERE number = ?"
    case .removePicture: "DELETE FROM picture WHERE number = ?"
    case .removeTags: "DELETE FROM tag WHERE number = ?"

    case .doomed:
      """
      SELECT number, digest, suffix, keep_until FROM doomed
      WHERE number > ? AND keep_until <= ? ORDER BY number LIMIT ?
      """
    case .isDoomed: "SELECT 1 FROM doomed WHERE number = ? AND digest = ?"
    case .nextDoom: "SELECT min(keep_until) FROM doomed WHERE keep_until > ?"
    case .forget: "DELETE FROM doomed WHERE number = ?"
    }
  }

  private static let selectRecord =
    """
    SELECT number, digest, bytes, allocated, stored_at, last_access, fresh_until, format,
      orientation, width, height, frames, flags, seal
    FROM entry
    """
}
