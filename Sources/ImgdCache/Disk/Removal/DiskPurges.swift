/// Takes in purges as they are asked for. Pictures on their way to the disk are compared with `PurgeList`.
final class DiskPurges: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private let removals: DiskRemovals

  init(_ ground: DiskGround, stores: DiskStores, removals: DiskRemovals) {
    self.ground = ground
    self.stores = stores
    self.removals = removals
  }

  /// Removes entries that match, or marks them stale; `then` gets the outcome when it is durable.
  ///
  /// From this call on, no entry that matches is found.
  func purge(_ filter: PurgeFilter, isSoft: Bool, then: @escaping (PurgeOutcome) -> Void) {
    guard health.state != .off else { return then(.done(.none)) }
    if !health.isUp, gate.isClosed { return gate.wait { [unowned self] in purge(filter, isSoft: isSoft, then: then) } }
    if health.isUp {
      reports.purge()
      // The search finds those pictures that are stored by the time it looks.
      stores.sendAll()
    }
    removals.remove(matching: filter, isSoft: isSoft, then: then)
  }

  /// Removes the image under a key, if there is one.
  func remove(_ key: CacheKey) {
    guard let digest = key.digest else { return }
    if let place = index.place(of: digest) { removals.remove(place, of: digest) }
    stores.drop(key)
    // The file may have an entry that is not in memory yet.
    if !index.isLoaded { purge(PurgeFilter(digest), isSoft: false) { _ in } }
  }
}
