internal import ImgdConnection
internal import ImgdWire

/// All that an HTTP answer says about a picture, as the daemon has reported it.
struct PictureFacts {
  let type: String
  let bytes: Int
  /// A strong entity tag, with its quotes; nil if the daemon has no checksum.
  let tag: String?
  /// Seconds since 1970.
  let modified: Int64?
  /// Whether others may keep it.
  let mayBeKept: Bool
  let age: Int
  /// Zero for a stale picture.
  let freshFor: Int

  /// Nil for an answer without a picture.
  init?(_ reply: Reply) {
    guard reply.succeeded == true, let type = reply.text("type"), let lent = reply.objects("fds")?.first,
      let bytes = lent.number("bytes"), bytes > 0
    else { return nil }
    self.type = type
    self.bytes = bytes
    tag = lent.text("checksum").map { "\"\($0)\"" }
    modified = lent.text("modified").flatMap { Timestamp.seconds(of: $0) }
    mayBeKept = lent.flag("keep") ?? true
    age = Self.sane(reply.number("age"))
    freshFor = reply.flag("stale") == true ? 0 : Self.sane(reply.number("fresh_for"))
  }

  /// Seconds, limited to the range in which caches count.
  private static func sane(_ seconds: Int?) -> Int { min(max(seconds ?? 0, 0), Int(Int32.max)) }
}
