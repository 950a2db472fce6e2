/// Purges, as they are asked for. What is on its way to the disk is compared with the list.
final class DiskPurges: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private let removals: DiskRemovals

  init(_ ground: DiskGround, stores: DiskStores, removals: DiskRemovals) {
    self.ground = ground
    self.stores = stores
    self.removals = removals
  }

  /// Removes what matches, or marks it stale; `then` is told how much when it is durable.
  ///
  /// From this call on nothing that matches is found.
  func purge(_ filter: PurgeFilter, isSoft: Bool, then: @escaping (PurgeOutcome) -> Void) {
    guard health.state != .off else { return then(.done(.none)) }
    if !health.isUp, gate.isClosed {
      return gate.wait { [unowned self] in purge(filter, isSoft: isSoft, then: then) }
    }
    if health.isUp {
      reports.purge()
      // Pictures that have been stored by then are found by the search.
      stores.sendAll()
    }
    removals.remove(matching: filter, isSoft: isSoft, then: then)
  }

  /// Removes the image under a key, if there is one.
  func remove(_ key: CacheKey) {
    guard let digest = key.digest else { return }
    if let place = index.place(of: digest) { removals.remove(place, of: digest) }
    stores.drop(key)
    // The file may know of an entry that memory does not know yet.
    if !index.isLoaded { purge(PurgeFilter(digest), isSoft: false) { _ in } }
  }
}
