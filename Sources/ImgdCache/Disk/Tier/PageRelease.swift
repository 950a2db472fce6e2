/// Lets go of memory that the disk tier can do without.
final class PageRelease: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private var isUnderWay = false

  init(_ ground: DiskGround, stores: DiskStores) {
    self.ground = ground
    self.stores = stores
  }

  /// Gives back the pages of the index, and calls `done` when nothing is being stored any more:
  /// pictures that wait for the disk are in memory until then.
  func giveBack(then done: @escaping () -> Void) {
    guard !isUnderWay else { return }
    isUnderWay = true
    // The writer's turn comes after the batch that is being stored; the next one is under way by then.
    threads.giveBack { [unowned self] in
      isUnderWay = false
      stores.isStoring ? giveBack(then: done) : done()
    }
  }
}
