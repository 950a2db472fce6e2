// What the disk tier holds in memory and can do without.

internal import ImgdSystem

extension DiskTier {
  /// Lets go of the pages of the index that its threads keep at hand, and calls `done` when nothing
  /// is being stored any more: pictures that wait for the disk are in memory until then.
  package func giveBack(then done: @escaping () -> Void) {
    guard let writer, let reader, !isGivingBack else { return }
    isGivingBack = true
    reader.submit({ $0.giveBack() })
    // Its turn comes after the batch that is being stored; the next one is under way by then.
    writer.submit(
      { $0.giveBack() },
      then: { [unowned self] in
        isGivingBack = false
        isStoring ? giveBack(then: done) : done()
      })
  }

  /// Something is on its way, or will be when this tick ends.
  private var isStoring: Bool {
    stores.inFlight > 0 || state == .ok && !stores.unsent.isEmpty
  }
}
