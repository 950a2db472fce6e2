internal import ImgdSystem

extension DiskTier {
  /// Removes what was not used for longest, once there is more than the capacity.
  func trim() {
    guard isLoaded, index.allocated > limits.capacity else { return }
    evict(until: limits.preferred)
  }

  /// Makes twice the room that is asked for, so that the next picture finds some too.
  func makeRoom(for bytes: Int) -> Bool {
    let before = index.allocated
    evict(until: max(index.allocated - 2 * bytes - (1 << 20), 0))
    return index.allocated < before
  }

  private func evict(until wanted: Int) {
    var left = index.allocated
    var victims: [Int] = []
    let wall = self.wall
    for place in index.leastRecentFirst {
      guard left > wanted else { break }
      let entry = index[place]
      guard !entry.isLeased(at: wall) else { continue }
      left -= entry.allocated
      victims.append(place)
    }
    remove(victims, as: .eviction)
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

  private func sweep() {
    remove(index.places.filter { isTooOld(index[$0]) }, as: .eviction)
    trim()
  }
}
