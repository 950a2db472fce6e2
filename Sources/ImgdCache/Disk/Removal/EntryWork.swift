/// Removes the rows and files of entries that were evicted or lost, and have left memory already.
///
/// After a stop or a kill, the next start finds those that are left.
final class EntryWork: RemovalWork {
  private let tools: RemovalTools
  private var numbers: [UInt32] = []

  init(with tools: RemovalTools) { self.tools = tools }

  var count: Int { numbers.count }

  func add(_ numbers: [UInt32]) { self.numbers += numbers }

  func forget() { numbers = [] }

  func step(then: @escaping (RemovalProgress) -> Void) {
    guard !numbers.isEmpty else { return then(.done) }
    let part = Array(numbers.suffix(RemovalStep.most))
    numbers.removeLast(part.count)
    let (leases, wall) = (tools.leases.ends(of: part), tools.rules.wall)
    if !leases.ends.isEmpty { tools.unlinkLater() }
    tools.threads.order(
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk).remove(part, leases: leases, at: wall) },
      then: { [unowned self, generation = tools.threads.generation] done in
        if done == nil, generation == tools.threads.generation { numbers += part }
        then(done == nil ? .failed : numbers.isEmpty ? .done : .more)
      })
  }

  /// Orders all steps for the numbers that were added last at once, for a store that waits for the
  /// room.
  func stepThrough(_ count: Int) { for _ in stride(from: 0, to: count, by: RemovalStep.most) { step { _ in } } }
}
