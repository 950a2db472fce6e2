internal import ImgdConnection

/// The daemon at the other end, as `Imgd.hello` finds it.
public struct DaemonDescription: Sendable {
  /// The version of the protocol: 1.
  public let protocolVersion: Int
  /// The version of the daemon.
  public let version: String
  /// The names of its optional features.
  public let features: [String]
  /// A UUID that changes with every start of the daemon.
  public let instance: String
  /// The formats that its decoder can read, and those that it can write.
  public let decodes: [String]
  public let encodes: [String]
  /// The whole answer, with all limits, as JSON text.
  public let json: String

  init(_ reply: Reply) {
    protocolVersion = reply.number("protocol") ?? 0
    version = reply.text("version") ?? ""
    features = reply.texts("features") ?? []
    instance = reply.text("instance") ?? ""
    decodes = reply.object("decode")?.texts("decodes") ?? []
    encodes = reply.object("decode")?.texts("encodes") ?? []
    json = reply.json
  }
}

/// The main counters of the daemon since its start; all of them are in `json`.
public struct Statistics: Sendable {
  /// A tier of the cache.
  public struct Tier: Sendable {
    public let entries: Int
    public let bytes: Int
    public let capacity: Int
    public let hits: Int
    public let misses: Int
    public let evictions: Int

    init(_ tier: Reply?) {
      entries = tier?.number("entries") ?? 0
      bytes = tier?.number("bytes") ?? 0
      capacity = tier?.number("capacity") ?? 0
      hits = tier?.number("hits") ?? 0
      misses = tier?.number("misses") ?? 0
      evictions = tier?.number("evictions") ?? 0
    }
  }

  /// The downloads of all clients.
  public struct Downloads: Sendable {
    /// Running now.
    public let active: Int
    /// Waiting now.
    public let queued: Int
    public let started: Int
    public let completed: Int
    public let failed: Int
    public let cancelled: Int
    /// Requests that joined a download which another one had begun.
    public let coalesced: Int
    public let bytesReceived: Int

    init(_ downloads: Reply?) {
      active = downloads?.number("active") ?? 0
      queued = downloads?.number("queued") ?? 0
      started = downloads?.number("started") ?? 0
      completed = downloads?.number("completed") ?? 0
      failed = downloads?.number("failed") ?? 0
      cancelled = downloads?.number("cancelled") ?? 0
      coalesced = downloads?.number("coalesced") ?? 0
      bytesReceived = downloads?.number("bytes_received") ?? 0
    }
  }

  /// The server that several hosts share.
  public struct Fleet: Sendable {
    /// `ok` where it can be used; otherwise `connecting`, `read-only`, `down` or `refused`.
    public let state: String
    /// Why it is not `ok`, and what would be right.
    public let reason: String?
    public let hits: Int
    public let misses: Int
    public let stores: Int
    /// Purges of this host that the server has not taken yet.
    public let pendingPurges: Int

    init(_ fleet: Reply) {
      state = fleet.text("state") ?? ""
      reason = fleet.text("reason")
      hits = fleet.number("hits") ?? 0
      misses = fleet.number("misses") ?? 0
      stores = fleet.number("stores") ?? 0
      pendingPurges = fleet.object("purges")?.number("pending") ?? 0
    }
  }

  public let memory: Tier
  public let disk: Tier
  /// Nil if the machine is in no fleet.
  public let fleet: Fleet?
  public let downloads: Downloads
  /// How many clients are connected, this one included.
  public let connectedClients: Int
  /// Fetches under way, of all clients.
  public let requests: Int
  /// The time since the daemon's start.
  public let uptime: Duration
  /// The whole answer as JSON text.
  public let json: String

  init(_ reply: Reply) {
    memory = Tier(reply.object("memory"))
    disk = Tier(reply.object("disk"))
    fleet = reply.object("fleet").map { Fleet($0) }
    downloads = Downloads(reply.object("downloads"))
    connectedClients = reply.object("clients")?.number("connected") ?? 0
    requests = reply.object("queue")?.number("requests") ?? 0
    uptime = .seconds(reply.object("process")?.number("uptime_s") ?? 0)
    json = reply.json
  }
}
