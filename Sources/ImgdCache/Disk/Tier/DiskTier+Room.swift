internal import ImgdSystem

extension DiskTier {
  /// What is taken out in one tick, and looked at: others want their answers.
  private static let mostEvictedAtOnce = 8_192
  private static let mostSweptAtOnce = 65_536

  /// Removes what was not used for longest, once there is more than the capacity.
  func trim() {
    guard isLoaded, !isTrimming, index.allocated > limits.capacity else { return }
    evictOn { [unowned self] in limits.preferred }
  }

  /// Goes on for as many ticks as it takes.
  private func evictOn(until wanted: @escaping () -> Int) {
    isTrimming = evict(until: wanted())
    guard isTrimming else { return }
    loop.nextTick { [unowned self] in evictOn(until: wanted) }
  }

  /// Makes twice the room that is asked for, so that the next picture finds some too.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    evict(until: max(index.allocated - 2 * bytes - (1 << 20), 0), urgently: true)
    return index.allocated < before
  }

  /// Gives back what shall be free of the file system.
  func makeFree() {
    let minFree = limits.minFree
    guard minFree.isOn, isLoaded, state == .ok else { return }
    order(
      { (writer) throws(DiskTrouble) in try writer.missing(keepingFree: minFree) },
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
    let wall = self.wall
    for place in index.leastRecentFirst {
      guard left > wanted, victims.count < Self.mostEvictedAtOnce else { break }
      let entry = index[place]
      guard !entry.isLeased(at: wall) else { continue }
      left -= entry.allocated
      victims.append(place)
    }
    remove(victims, as: .eviction, urgently: urgently)
    return left > wanted && victims.count == Self.mostEvictedAtOnce
  }

  // MARK: Age

  /// Looks for what has grown too old, a few times within the age.
  func scheduleSweep() {
    let pause = min(max((limits.maxAge ?? .seconds(3600)) / 8, .seconds(1)), .seconds(3600))
    loop.schedule(after: pause) { [unowned self] in
      sweep()
      scheduleSweep()
    }
  }

  /// Goes on in the next tick until all have been looked at.
  func sweep(from start: Int = 0) {
    guard let places = index.places(from: start, count: Self.mostSweptAtOnce) else { return trim() }
    remove(places.filter { isTooOld(index[$0]) }, as: .eviction)
    loop.nextTick { [unowned self] in sweep(from: start + Self.mostSweptAtOnce) }
  }
}
