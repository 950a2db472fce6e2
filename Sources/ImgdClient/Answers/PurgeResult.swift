internal import ImgdConnection

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
