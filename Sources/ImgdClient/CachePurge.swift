internal import ImgdConnection
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
  /// Entries that have this tag; with `host`, also those that have it as a group of their origin.
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

/// The entries that a purge has found.
public struct PurgeResult: Hashable, Sendable {
  /// The entries of one tier.
  public struct Tier: Hashable, Sendable {
    public let entries: Int
    /// On disk these are allocated blocks.
    public let bytes: Int

    init(_ tier: Reply) {
      entries = tier.number("entries") ?? 0
      bytes = tier.number("bytes") ?? 0
    }
  }

  /// Whether the other hosts of a fleet know of a purge.
  public enum Fleet: String, Hashable, Sendable {
    /// It is in the log that all of them read.
    case sent
    /// They are told as soon as the fleet's server answers.
    case pending
  }

  /// Whether any entry was removed; never by a soft purge.
  public let removed: Bool
  /// The entries in memory.
  public let memory: Tier?
  /// The entries on disk; nil while the disk cannot be written. The purge is in force all the same, and carried out
  /// later.
  public let disk: Tier?
  /// Nil if the machine is in no fleet, and for a purge of this host only.
  public let fleet: Fleet?

  init(_ reply: Reply) {
    removed = reply.flag("removed") ?? false
    memory = reply.object("memory").map { Tier($0) }
    disk = reply.object("disk").map { Tier($0) }
    fleet = reply.text("fleet").flatMap { Fleet(rawValue: $0) }
  }
}
