// A purge that cannot be written now.
//
// Whoever has asked for it will never see what matches, so the tier is off until it has been carried
// out: as soon as the index can be written, or the directory is there again.

/// A purge that is still to come.
struct OwedPurge {
  let filter: PurgeFilter
  let soft: Bool
}

extension DiskTier {
  /// Beyond that everything goes, which no purge could object to.
  private static let mostOwed = 64

  func owe(_ purge: OwedPurge) {
    if owed.count >= Self.mostOwed { owed = [OwedPurge(filter: PurgeFilter(), soft: false)] }
    owed.append(purge)
    state = .off
  }

  /// Before anything is looked for or stored: what comes later is not meant.
  func carryOutOwed() {
    let purges = owed
    owed = []
    for owed in purges {
      look(for: PurgeTask(owed.filter, soft: owed.soft) { _ in })
    }
  }
}
