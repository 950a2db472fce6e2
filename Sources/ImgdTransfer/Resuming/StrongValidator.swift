internal import CCurl

/// Identifies one version of a body, byte for byte (RFC 9110, section 8.8.1).
///
/// Only with such a validator may the parts of two responses be joined.
struct StrongValidator: Equatable {
  /// As the origin wrote it, for `If-Range`.
  let text: String
  private let isTag: Bool

  /// A file that changes twice within a second keeps its date, and an origin's clocks may differ a
  /// little. So a date is trusted only when the file has not changed for this many seconds.
  private static let mostRecent: Int = 60

  /// nil when the response has none. A date does not replace a weak tag: a client that has a tag must
  /// not use the date.
  init?(of head: HeadCollector) {
    if let tag = head.first("etag") {
      guard Self.isStrong(tag: tag) else { return nil }
      text = tag
      isTag = true
    } else {
      guard let modified = head.first("last-modified"), let date = head.first("date"),
        Self.isStrong(modified: modified, date: date)
      else { return nil }
      text = modified
      isTag = false
    }
  }

  /// Whether a 206 belongs to the same version. After a request with a tag it must repeat the tag.
  func holds(for head: HeadCollector) -> Bool {
    if let tag = head.first("etag") { return isTag && tag == text }
    guard !isTag else { return false }
    return head.first("last-modified").map { $0 == text } ?? true
  }

  /// Only ASCII, because other bytes may have changed when they became a string.
  private static func isStrong(tag: String) -> Bool {
    let bytes = tag.utf8
    guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") }
  }

  private static func isStrong(modified: String, date: String) -> Bool {
    guard modified.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return false }
    let changed = unsafe curl_getdate(modified, nil)
    let sent = unsafe curl_getdate(date, nil)
    guard changed >= 0, sent >= 0 else { return false }
    return sent - changed >= mostRecent
  }
}
