internal import ImgdSystem

/// Makes room: the entries that were not used for longest go, and those that have grown too old.
final class DiskEviction {
  /// The entries that are taken out in one tick, and looked at: other questions want their answers.
  private static let mostAtOnce = 8_192
  private static let mostSweptAtOnce = 65_536

  private let index: DiskIndex
  private let removals: DiskRemovals
  private let threads: DiskThreads
  private let health: DiskHealth
  private let rules: DiskRules
  private let loop: EventLoop
  /// More has to go than was taken out in one tick.
  private var isTrimming = false

  init(
    _ index: DiskIndex, _ removals: DiskRemovals, _ threads: DiskThreads, _ health: DiskHealth,
    _ rules: DiskRules, loop: EventLoop
  ) {
    self.index = index
    self.removals = removals
    self.threads = threads
    self.health = health
    self.rules = rules
    self.loop = loop
  }

  /// Removes what was not used for longest, once there is more than the capacity.
  func trim() {
    guard index.isLoaded, !isTrimming, index.allocated > rules.limits.capacity else { return }
    evictOn { [rules] in rules.limits.preferred }
  }

  /// Goes on for as many ticks as it takes.
  private func evictOn(until wanted: @escaping () -> Int) {
    isTrimming = evict(until: wanted())
    guard isTrimming else { return }
    loop.nextTick { [unowned self] in evictOn(until: wanted) }
  }

  /// Makes twice the room that is asked for, so that the next picture finds some too; answers whether
  /// any was made.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    evict(until: max(index.allocated - 2 * bytes - (1 << 20), 0), urgently: true)
    return index.allocated < before
  }

  /// Gives back what shall be free of the file system.
  func makeFree() {
    let minFree = rules.limits.minFree
    guard minFree.isOn, index.isLoaded, health.state == .ok else { return }
    threads.order(
      { (disk) throws(DiskTrouble) in
        do throws(SystemFailure) {
          return try disk.missing(keepingFree: minFree)
        } catch { throw disk.explained(DiskTrouble(error)) }
      },
      then: { [unowned self] missing in
        guard let missing, missing > 0 else { return }
        let wanted = max(index.allocated - missing, 0)
        evictOn { wanted }
      })
  }

  /// Answers whether more has to go, and can.
  @discardableResult
  private func evict(until wanted: Int, urgently: Bool = false) -> Bool {
    var left = index.allocated
    var victims: [Int] = []
    let wall = rules.wall
    for place in index.leastRecentFirst {
      guard left > wanted, victims.count < Self.mostAtOnce else { break }
      let entry = index[place]
      guard !entry.isLeased(at: wall) else { continue }
      left -= entry.allocated
      victims.append(place)
    }
    removals.remove(victims, as: .eviction, urgently: urgently)
    return left > wanted && victims.count == Self.mostAtOnce
  }

  // MARK: Age

  /// Looks for entries that have grown too old, a few times within the age.
  func scheduleSweep() {
    let maxAge = rules.limits.maxAge ?? .seconds(3600)
    let pause = min(max(maxAge / 8, .seconds(1)), .seconds(3600))
    loop.schedule(after: pause) { [unowned self] in
      sweep()
      scheduleSweep()
    }
  }

  /// Goes on in the next tick until all have been looked at.
  func sweep(from start: Int = 0) {
    guard let places = index.places(from: start, count: Self.mostSweptAtOnce) else { return trim() }
    removals.remove(places.filter { rules.isTooOld(index[$0]) }, as: .eviction)
    loop.nextTick { [unowned self] in sweep(from: start + Self.mostSweptAtOnce) }
  }
}
