internal import ImgdConnection

/// The entries of the cache that a purge removes: those that match all of what is set.
public struct PurgeFilter: Hashable, Sendable {
  /// The tiers that a purge is about.
  public enum Tier: String, CaseIterable, Sendable {
    case all, memory, disk
  }

  /// Every entry of both tiers.
  public static let everything = PurgeFilter()

  /// The tiers that the purge is about.
  public var tier = Tier.all
  /// Entries with this URL, of all identifiers and headers.
  public var url: String?
  /// Entries with this identifier, of all users.
  public var identifier: String?
  /// Entries whose URL begins so.
  public var prefix: String?
  /// Entries of this host and its subdomains.
  public var host: String?
  /// Entries that were fetched with this tag.
  public var tag: String?
  /// Entries stored so long ago; in whole seconds.
  public var olderThan: Duration?
  /// Entries not used for so long; in whole seconds.
  public var unusedFor: Duration?
  /// Only entries that are no longer fresh.
  public var expired = false
  /// Whether the entries stay, and are confirmed by their origins at their next use.
  public var soft = false

  /// One condition, or several; with none, see `everything`.
  public init(
    url: String? = nil, prefix: String? = nil, host: String? = nil, tag: String? = nil
  ) {
    self.url = url
    self.prefix = prefix
    self.host = host
    self.tag = tag
  }

  var request: RequestLine {
    var line = RequestLine("purge")
    if tier != .all { line.add("tier", tier.rawValue) }
    line.add("url", url)
    line.add("identifier", identifier)
    line.add("prefix", prefix)
    line.add("host", host)
    line.add("tag", tag)
    line.add("older_than", olderThan.map { $0.rounded(to: .seconds(1)) })
    line.add("unused_for", unusedFor.map { $0.rounded(to: .seconds(1)) })
    if expired { line.add("expired", true) }
    if soft { line.add("soft", true) }
    return line
  }
}
