internal import ImgdSystem

/// Makes room by evicting entries, and removes those that have grown too old.
final class DiskEviction: DiskPart {
  /// How many entries are looked at in one tick. It takes a quarter of a millisecond, while others wait for answers.
  private static let mostAtOnce = 256
  /// How many entries are looked at in one go for a picture that has no room otherwise.
  private static let mostUrgent = 2_048
  /// How long to wait before looking again when everything is leased.
  private static let pause = Duration.seconds(1)

  private let removals: DiskRemovals
  /// Whether more has to go than one tick could take out.
  private var isTrimming = false
  /// The place at which the sweep under way goes on; nil without one.
  private var nextSwept: Int?

  init(_ ground: DiskGround, removals: DiskRemovals) {
    self.removals = removals
    super.init(ground)
  }

  func trim() {
    guard index.isLoaded, !isTrimming, index.allocated > rules.limits.capacity else { return }
    evictOn { [rules] in rules.limits.preferred }
  }

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

  /// Makes twice the room that is asked for, so that the next picture finds some too; returns whether any was made.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    evict(until: max(index.allocated - 2 * bytes - (1 << 20), 0), urgently: true)
    return index.allocated < before
  }

  func makeFree() {
    let minFree = rules.limits.minFree
    guard minFree.isOn, index.isLoaded, health.state == .ok else { return }
    threads.order(
      { (disk) throws(DiskTrouble) in
        do throws(SystemFailure) { return try disk.room(keepingFree: minFree).missing } catch {
          throw disk.explained(DiskTrouble(error))
        }
      },
      then: { [unowned self] missing in
        guard let missing, missing > 0 else { return }
        let wanted = max(index.allocated - missing, 0)
        evictOn { wanted }
      })
  }

  /// Finds out how large the file system is if the capacity is a share of it, and makes room if that makes the
  /// capacity smaller. The writer asks, since a file system may be slow to answer, when the directory is opened and
  /// at each reload: the file system may have been enlarged, or another one mounted.
  func lookAtFileSystem() {
    guard rules.limits.allowance.asksForFileSystem else { return }
    threads.order(
      { (disk) throws(DiskTrouble) in
        do throws(SystemFailure) { return try disk.pictures.freeSpace().total } catch {
          throw disk.explained(DiskTrouble(error))
        }
      },
      then: { [unowned self] total in
        guard let total else { return }
        rules.note(fileSystem: total)
        trim()
      })
  }

  /// Removes the entries that go next. One that is leased is in somebody's hands: it moves to the other end of the
  /// order, so that it is not in the way again. `goesOn` says whether more has to go and some have not been looked at.
  @discardableResult private func evict(until wanted: Int, urgently: Bool = false) -> (
    evicted: Int, spared: Int, goesOn: Bool
  ) {
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
    return (victims.count, spared.count, left > wanted && isFull)
  }

  /// Schedules the search for entries that have grown too old, several times within the age limit.
  func scheduleSweep() {
    let maxAge = rules.limits.maxAge ?? .seconds(3600)
    let pause = min(max(maxAge / 8, .seconds(1)), .seconds(3600))
    loop.schedule(after: pause) { [unowned self] in
      sweep()
      scheduleSweep()
    }
  }

  /// Looks for entries that have grown too old; a sweep that is under way begins again with the first entry.
  func sweep() {
    let isUnderWay = nextSwept != nil
    nextSwept = 0
    if !isUnderWay { sweepOn() }
  }

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
