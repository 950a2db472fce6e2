internal import ImgdSystem

enum RemovalProgress {
  case more, done
  /// The disk has refused; the step is tried again when the disk works.
  case failed
}

/// One kind of thing that has to go from the disk, step by step.
protocol RemovalWork: AnyObject {
  /// Does only as much as keeps others from waiting long for the writer.
  func step(then: @escaping (RemovalProgress) -> Void)
}

enum RemovalStep { static let most = 64 }

struct RemovalTools {
  // Unowned, since the threads hold their jobs, and a job under way holds its work.
  unowned let threads: DiskThreads
  let rules: DiskRules
  let leases: FileLeases
  let unlinks: UnlinkWork

  init(_ ground: DiskGround) {
    threads = ground.threads
    rules = ground.rules
    leases = ground.leases
    unlinks = UnlinkWork(ground)
  }

  func order(_ filter: PurgeFilter, isSoft: Bool = false) -> RemovalOrder {
    RemovalOrder(filter, isSoft: isSoft, askedAt: rules.wall, keepUntil: leases.lastEnd)
  }

  /// Has files looked for when all leases that may be on them now have ended.
  func unlinkLater() { unlinks.schedule(after: rules.limits.lease) }
}

/// Removes the rows and files of entries that were evicted or lost, and have left memory already; or the files alone of
/// those whose bytes have.
///
/// After a stop or a kill, the next start finds those that are left.
final class EntryWork: RemovalWork {
  private let tools: RemovalTools
  private let keepsRows: Bool
  private var numbers: [UInt32] = []

  init(with tools: RemovalTools, keepingRows keepsRows: Bool = false) {
    self.tools = tools
    self.keepsRows = keepsRows
  }

  var count: Int { numbers.count }

  func add(_ numbers: [UInt32]) { self.numbers += numbers }

  func forget() { numbers = [] }

  func step(then: @escaping (RemovalProgress) -> Void) {
    guard !numbers.isEmpty else { return then(.done) }
    let part = Array(numbers.suffix(RemovalStep.most))
    numbers.removeLast(part.count)
    let (leases, wall, keepsRows) = (tools.leases.ends(of: part), tools.rules.wall, keepsRows)
    if !leases.ends.isEmpty { tools.unlinkLater() }
    tools.threads.order(
      { (disk) throws(DiskTrouble) in
        let removal = EntryRemoval(disk: disk)
        if keepsRows { return try removal.shed(part, leases: leases, at: wall) }
        try removal.remove(part, leases: leases, at: wall)
      },
      then: { [unowned self, generation = tools.threads.generation] done in
        if done == nil, generation == tools.threads.generation { numbers += part }
        then(done == nil ? .failed : numbers.isEmpty ? .done : .more)
      })
  }

  /// Orders all steps for the numbers that were added last at once, for a store that waits for the room.
  func stepThrough(_ count: Int) { for _ in stride(from: 0, to: count, by: RemovalStep.most) { step { _ in } } }
}

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
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk: disk).removeSome(of: order, leases: leases, at: wall) },
      then: { [unowned self] more in
        guard let more else { return then(.failed) }
        if !more { tools.unlinkLater() }
        then(more ? .more : .done)
      })
  }
}

/// Removes the files of pending unlinks whose leases have ended, and comes back when the next lease ends.
final class UnlinkWork: RemovalWork {
  /// Called when files are due; set once by the queue.
  var onDue: () -> Void = {}
  var onRemoved: () -> Void = {}

  // Unowned, since the threads hold their jobs, and a job under way holds its work.
  private unowned let threads: DiskThreads
  private let rules: DiskRules
  private let loop: EventLoop
  private var timer: Timer?
  /// The number after which to go on.
  private var last: UInt32 = 0

  init(_ ground: DiskGround) {
    threads = ground.threads
    rules = ground.rules
    loop = ground.loop
  }

  func step(then: @escaping (RemovalProgress) -> Void) {
    let (last, wall) = (last, rules.wall)
    threads.order(
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk: disk).unlinkDue(after: last, at: wall) },
      then: { [unowned self] answer in
        self.last = answer?.next ?? 0
        guard let answer else { return then(.failed) }
        if answer.count > 0 { onRemoved() }
        if let due = answer.due { schedule(after: .seconds(max(due - rules.wall, 1))) }
        then(answer.next == nil ? .done : .more)
      })
  }

  /// Has files looked for after a time, unless that is planned for earlier.
  func schedule(after delay: Duration) {
    if let timer, timer.deadline <= loop.now + delay { return }
    timer?.cancel()
    timer = loop.schedule(after: delay) { [unowned self] in
      timer = nil
      onDue()
    }
  }
}
