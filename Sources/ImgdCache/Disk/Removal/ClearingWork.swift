/// Removes the rows and files of all entries after a purge of everything, which has been
/// written down: none of them is found any more.
final class ClearingWork: RemovalWork {
  private let tools: RemovalTools
  private let order: RemovalOrder
  private let leases: LeaseEnds

  init(_ order: RemovalOrder, leases: LeaseEnds, with tools: RemovalTools) {
    self.order = order
    self.leases = leases
    self.tools = tools
  }

  func step(then: @escaping (RemovalProgress) -> Void) {
    let (order, leases, wall) = (order, leases, tools.rules.wall)
    tools.threads.order(
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk).removeSome(of: order, leases: leases, at: wall) },
      then: { [unowned self] more in
        guard let more else { return then(.failed) }
        if !more { tools.unlinkLater() }
        then(more ? .more : .done)
      })
  }
}
