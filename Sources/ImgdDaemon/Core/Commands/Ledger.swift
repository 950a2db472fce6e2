import ImgdCache
import ImgdTransfer

/// What the daemon holds in memory, in bytes, by holder: each is asked for its own count, so that nothing is
/// counted twice. Buffers of libraries and the cost of small objects are estimates.
struct Ledger {
  /// A connection with its objects, without what is in its buffers.
  private static let connection = 2_048
  /// A connection to an origin with its buffers in libcurl and, for most of them, TLS.
  private static let transfer = 48 * 1_024

  let accounts: [(name: StaticString, bytes: Int)]

  /// `base` is what the process held before it served anybody.
  init(_ parts: CoreParts, base: Int, clientBytes: Int) {
    let transfers = parts.downloader.holdings
    accounts = [
      ("base", base), ("pictures", parts.pictures.memory.usage + parts.pictures.purges.bytes),
      ("failures", parts.pictures.answers.bytes), ("variants", parts.pictures.variants.heldBytes),
      ("requests", parts.jobs.shares.total.bytes + parts.downloader.heldBytes), ("outcomes", parts.jobs.keptBytes),
      ("clients", clientBytes + parts.clients.connected * Self.connection),
      (
        "transfers",
        transfers.bodies + transfers.partials + transfers.idleHandles + transfers.connections * Self.transfer
      ), ("decoding", parts.renditions.heldBytes), ("fleet", parts.fleetPurges.heldBytes + parts.fleet.heldBytes),
      ("disk", parts.pictures.disk.held.total),
    ]
  }

  var total: Int { accounts.reduce(0) { $0 + $1.bytes } }
}
