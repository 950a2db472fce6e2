internal import ImgdSystem

/// Removes the files of pending unlinks whose leases have ended, and comes back when the next lease ends.
final class UnlinkWork: RemovalWork {
  /// Called when files are due; set once by the queue.
  var onDue: () -> Void = {}
  /// Called when files have gone, since there may be room again.
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
      { (disk) throws(DiskTrouble) in try EntryRemoval(disk).unlinkDue(after: last, at: wall) },
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
