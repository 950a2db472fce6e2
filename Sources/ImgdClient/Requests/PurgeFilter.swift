internal import ImgdWire

/// The entries of the cache that a purge removes: those that match every condition that is set.
public struct PurgeFilter: Hashable, Sendable {
  /// The tiers that a purge is about.
  public enum Tier: String, CaseIterable, Sendable { case all, memory, disk }

  /// Every entry of both tiers.
  public static let everything = PurgeFilter()

  /// The tiers that the purge is about.
  public var tier = Tier.all
  /// Entries with this URL, of all identifiers and headers.
  public var url: String?
  /// Entries with this identifier, of all users.
  public var identifier: String?
  /// Entries whose URL begins with this.
  public var prefix: String?
  /// Entries of this host and its subdomains.
  public var host: String?
  /// Entries that were fetched with this tag.
  public var tag: String?
  /// Entries stored at least this long ago; in whole seconds.
  public var olderThan: Duration?
  /// Entries not used for at least this long; in whole seconds.
  public var unusedFor: Duration?
  /// Only entries that are no longer fresh.
  public var expired = false
  /// Whether the entries stay, and are confirmed by their origins at their next use.
  public var soft = false

  /// One condition, or several; with none, see `everything`.
  public init(url: String? = nil, prefix: String? = nil, host: String? = nil, tag: String? = nil) {
    self.url = url
    self.prefix = prefix
    self.host = host
    self.tag = tag
  }

  var request: PurgeRequest {
    var purge = PurgeRequest()
    purge.tier = wireWord(tier)
    purge.url = url
    purge.identifier = identifier
    purge.prefix = prefix
    purge.host = host
    purge.tag = tag
    purge.olderThan = olderThan?.rounded(to: .seconds(1))
    purge.unusedFor = unusedFor?.rounded(to: .seconds(1))
    purge.expired = expired
    purge.soft = soft
    return purge
  }
}
