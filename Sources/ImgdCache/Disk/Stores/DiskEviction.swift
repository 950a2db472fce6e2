internal import ImgdSystem

/// Makes room by the rule of eviction, and has entries go that have grown too old.
final class DiskEviction: DiskPart {
  /// The entries that are looked at in one tick, in a quarter of a millisecond: others want their answers.
  private static let mostAtOnce = 256
  /// The entries that may go at once for a picture that has no room otherwise.
  private static let mostUrgent = 2_048
  /// When everything is leased, it is looked again after this time.
  private static let pause = Duration.seconds(1)

  private struct Step {
    var evicted = 0
    var spared = 0
    /// More has to go, and others have not been looked at.
    var goesOn = false
  }

  let ground: DiskGround
  private let removals: DiskRemovals
  /// More has to go than was taken out in one tick.
  private var isTrimming = false
  /// Where the sweep goes on that is under way.
  private var nextSwept: Int?

  init(_ ground: DiskGround, removals: DiskRemovals) {
    self.ground = ground
    self.removals = removals
  }

  /// Removes what is the next to go, once there is more than the capacity.
  func trim() {
    guard index.isLoaded, !isTrimming, index.allocated > rules.limits.capacity else { return }
    evictOn { [rules] in rules.limits.preferred }
  }

  /// Goes on for as many ticks as it takes.
  private func evictOn(afterSparing before: Int = 0, until wanted: @escaping () -> Int) {
    let step = evict(until: wanted())
    isTrimming = step.goesOn
    guard isTrimming else { return }
    let spared = step.evicted > 0 ? 0 : before + step.spared
    guard spared >= index.count else {
      return loop.nextTick { [unowned self] in evictOn(afterSparing: spared, until: wanted) }
    }
    loop.schedule(after: Self.pause) { [unowned self] in
      isTrimming = false
      trim()
    }
  }

  /// Makes twice the room that is asked for, so that the next picture finds some too; answers whether
  /// any was made.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    evict(until: max(index.allocated - 2 * bytes - (1 << 20), 0), urgently: true)
    return index.allocated < before
  }

  /// Removes files until the reserve of the file system is free again.
  func makeFree() {
    let minFree = rules.limits.minFree
    guard minFree.isOn, index.isLoaded, health.state == .ok else { return }
    threads.order(
      { (disk) throws(DiskTrouble) in
        do throws(SystemFailure) {
          return try disk.room(keepingFree: minFree).missing
        } catch { throw disk.explained(DiskTrouble(error)) }
      },
      then: { [unowned self] missing in
        guard let missing, missing > 0 else { return }
        let wanted = max(index.allocated - missing, 0)
        evictOn { wanted }
      })
  }

  /// Looks at the entries that go next. One that is leased is in somebody's hands: it
  /// goes to the other end, so that it is not in the way again.
  @discardableResult
  private func evict(until wanted: Int, urgently: Bool = false) -> Step {
    let most = urgently ? Self.mostUrgent : Self.mostAtOnce
    var left = index.allocated
    var (victims, spared): ([Int], [Int]) = ([], [])
    let wall = rules.wall
    for place in index.victims {
      guard left > wanted, victims.count + spared.count < most else { break }
      let entry = index[place]
      if entry.isLeased(at: wall) {
        spared.append(place)
      } else {
        left -= entry.allocated
        victims.append(place)
      }
    }
    for place in spared { index.spare(place) }
    removals.remove(victims, as: .eviction, urgently: urgently)
    let isFull = victims.count + spared.count == most
    return Step(
      evicted: victims.count, spared: spared.count, goesOn: left > wanted && isFull)
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

  /// Looks at every entry, from the first one on also when that is being done already.
  func sweep() {
    let isUnderWay = nextSwept != nil
    nextSwept = 0
    if !isUnderWay { sweepOn() }
  }

  /// Goes on in the next tick until all have been looked at.
  private func sweepOn() {
    guard let start = nextSwept else { return }
    guard let places = index.places(from: start, count: Self.mostAtOnce) else {
      nextSwept = nil
      return trim()
    }
    nextSwept = start + Self.mostAtOnce
    removals.remove(places.filter { rules.isTooOld(index[$0]) }, as: .eviction)
    loop.nextTick { [unowned self] in sweepOn() }
  }
}
