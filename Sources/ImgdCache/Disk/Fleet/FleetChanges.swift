/// Changes to the notes about the fleet, which the writer makes in one transaction.
struct FleetChanges: Sendable {
  private enum Change {
    case keep(FleetPurge)
    case drop(UInt64)
  }

  /// Whether all purges are removed before anything else is done.
  private var takesAll = false
  private var position: FleetPosition?
  /// In the order in which they were asked for.
  private var changes: [Change] = []
  /// The bytes of the purges, roughly.
  private var bytes = 0

  var isEmpty: Bool { !takesAll && position == nil && changes.isEmpty }

  /// How many changes to purges there are.
  var count: Int { changes.count }

  /// The memory that they take, roughly.
  var heldBytes: Int { bytes + changes.count * 32 }

  mutating func keep(_ position: FleetPosition) { self.position = position }

  mutating func keep(_ purge: FleetPurge) {
    changes.append(.keep(purge))
    bytes += purge.filter.roughBytes
  }

  mutating func drop(_ nonce: UInt64) { changes.append(.drop(nonce)) }

  mutating func dropAll() { (takesAll, changes, bytes) = (true, [], 0) }

  /// Makes the changes, inside a transaction.
  func carryOut(in rows: FleetRows) throws(IndexProblem) {
    if takesAll { try rows.removeAll() }
    for change in changes {
      switch change {
      case .keep(let purge): try rows.put(purge)
      case .drop(let nonce): try rows.remove(nonce)
      }
    }
    if let position { try rows.put(position) }
  }
}
