/// Lets go of memory that the disk tier can do without.
final class PageRelease: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private var isUnderWay = false

  init(_ ground: DiskGround, stores: DiskStores) {
    self.ground = ground
    self.stores = stores
  }

  /// Frees the pages of the index, and calls `done` when nothing is being stored any more:
  /// until then, pictures that wait for the disk take memory.
  func giveBack(then done: @escaping () -> Void) {
    guard !isUnderWay else { return }
    isUnderWay = true
    // The writer gets to this after the batch that is being stored; the next batch has been sent by then.
    threads.giveBack { [unowned self] in
      isUnderWay = false
      stores.isStoring ? giveBack(then: done) : done()
    }
  }
}
