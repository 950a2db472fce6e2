internal import ImgdSystem

/// Look-ups that wait for a thread: users take turns, and those of one user keep the order of arrival.
///
/// The line holds claims. A claim is void when its look-up has begun, in the turn of another user who
/// asks for the same name, or when its user no longer wants it. Void claims are dropped when they come
/// up, or all at once when they are the majority.
struct LookupLine {
  private var claims: [UInt32: Fifo<NamedLookup>] = [:]
  private var turns = Fifo<UInt32>()
  /// The number of claims, valid and void.
  private(set) var count = 0

  mutating func add(_ lookup: NamedLookup, for uid: UInt32) {
    if claims[uid] == nil { turns.append(uid) }
    claims[uid, default: Fifo()].append(lookup)
    count += 1
  }

  /// Removes the next look-up of a user who may begin one.
  mutating func next(where mayBegin: (UInt32) -> Bool) -> (lookup: NamedLookup, uid: UInt32)? {
    for _ in 0..<turns.count {
      guard let uid = turns.popFirst() else { return nil }
      guard mayBegin(uid) else {
        turns.append(uid)
        continue
      }
      if let lookup = takeFirst(of: uid) {
        turns.append(uid)
        return (lookup, uid)
      }
      claims[uid] = nil
    }
    return nil
  }

  private mutating func takeFirst(of uid: UInt32) -> NamedLookup? {
    while let lookup = claims[uid]?.popFirst() {
      count -= 1
      if lookup.waits(for: uid) { return lookup }
    }
    return nil
  }

  /// Drops void claims when they are the majority; at most `live` are valid.
  mutating func tidy(live: Int) {
    guard count > 2 * live + 16 else { return }
    var kept = LookupLine()
    for uid in turns.all {
      for lookup in claims[uid]?.all ?? [] where lookup.waits(for: uid) { kept.add(lookup, for: uid) }
    }
    self = kept
  }
}
