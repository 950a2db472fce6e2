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
    evictOn(sharing: rules.limits.capacity) { [rules] in rules.limits.preferred }
  }

  /// Nobody loses anything while below an equal share of a capacity.
  private func evictOn(sharing capacity: Int, afterSparing before: Int = 0, until wanted: @escaping () -> Int) {
    let step = evict(until: wanted(), sharing: capacity)
    isTrimming = step.goesOn
    guard isTrimming else { return }
    let spared = step.evicted > 0 ? 0 : before + step.spared
    guard spared >= index.count else {
      return loop.nextTick { [unowned self] in evictOn(sharing: capacity, afterSparing: spared, until: wanted) }
    }
    loop.schedule(after: Self.pause) { [unowned self] in
      isTrimming = false
      trim()
    }
  }

  /// Makes twice the room that is asked for, so that the next picture finds some too; returns whether any was made.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    let wanted = max(index.allocated - 2 * bytes - (1 << 20), 0)
    evict(until: wanted, sharing: wanted, urgently: true)
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
        evictOn(sharing: wanted) { wanted }
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

  /// What goes next, as far as it has been looked at.
  private struct Choice {
    /// Entries that go as a whole.
    var victims: [Int] = []
    /// Pictures of which the bytes alone go.
    var sources: [Int] = []
    /// Entries that are in somebody's hands, and facts whose forms go before them.
    var spared: [Int] = []
    var left: Int

    var count: Int { victims.count + sources.count + spared.count }
  }

  /// Removes what goes next: the bytes of sources, then what was least recently used. What is spared moves to the other
  /// end of the order, so that it is not in the way again. `goesOn` says whether more has to go and some have not been
  /// looked at.
  @discardableResult private func evict(until wanted: Int, sharing capacity: Int, urgently: Bool = false) -> (
    evicted: Int, spared: Int, goesOn: Bool
  ) {
    let most = urgently ? Self.mostUrgent : Self.mostAtOnce
    var choice = Choice(left: index.allocated)
    if rules.limits.shedsOriginals {
      choose(from: index.sources(sharing: capacity), until: wanted, most: most, into: &choice)
    }
    // What was chosen is out of the way before the order is asked.
    carryOut(choice, urgently: urgently)
    var rest = Choice(left: index.allocated)
    choose(from: index.victims(sharing: capacity), until: wanted, most: most - choice.count, into: &rest)
    carryOut(rest, urgently: urgently)
    let count = choice.count + rest.count
    let spared = choice.spared.count + rest.spared.count
    return (count - spared, spared, rest.left > wanted && count == most)
  }

  private func choose(from places: some Sequence<Int>, until wanted: Int, most: Int, into choice: inout Choice) {
    let wall = rules.wall
    for place in places {
      guard choice.left > wanted, choice.count < most else { return }
      let entry = index[place]
      let keepsForms = rules.limits.shedsOriginals && index.hasForms(place)
      if entry.isLeased(at: wall) || keepsForms && !entry.hasBody {
        choice.spared.append(place)
      } else if keepsForms {
        choice.left -= entry.allocated - DiskEntry.chargeForFacts
        choice.sources.append(place)
      } else {
        choice.left -= entry.allocated
        choice.victims.append(place)
      }
    }
  }

  private func carryOut(_ choice: Choice, urgently: Bool) {
    for place in choice.spared { index.spare(place) }
    removals.shed(choice.sources, urgently: urgently)
    removals.remove(choice.victims, as: .eviction, urgently: urgently)
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
