import ImgdSystem

/// Which hosts are busy enough for a tally of their own.
///
/// What a host weighs is what has happened there lately: it halves every few minutes. One without a tally has to come up
/// more often, among those whose names fall into the same place by their hash, than all others there together, until it
/// outweighs the least busy one that has a tally. So hosts that are named once, however many, stay outside, and cost a look
/// at one place.
struct BusyHosts {
  static let halfLife = Duration.seconds(600)
  private static let places = 256

  private struct Candidate {
    var hash = 0
    var weight = 0
  }

  private struct Member {
    /// What it weighed when that was last halved, and what had happened there by then.
    var weight: Int
    var counted: Int
  }

  private var candidates = [Candidate](repeating: Candidate(), count: places)
  /// By the numbers of their tallies.
  private var members = [Member?](repeating: nil, count: OriginLedger.mostHosts + 1)
  private var halvedAt: Instant?
  /// No member weighs less, unless it has just been halved.
  private var least = 0
  /// The weight of the last candidate that was found busy.
  private var admitted = 0
  private(set) var leastNumber: Int?

  /// Counts something at a host without a tally; returns whether it is busier now than the least busy one with a tally.
  /// `total` is all that has ever happened at that one.
  mutating func isBusy(_ host: OriginHost, weight: Int, total: (Int) -> Int) -> Bool {
    let hash = host.hashValue
    let place = Int(UInt(bitPattern: hash) % UInt(Self.places))
    if candidates[place].hash == hash {
      // A sample that stands for many says little about a host before there are others.
      candidates[place].weight += min(weight, max(candidates[place].weight, 1))
    } else if candidates[place].weight > weight {
      candidates[place].weight -= weight
    } else {
      candidates[place] = Candidate(hash: hash, weight: 1)
    }
    guard candidates[place].hash == hash, candidates[place].weight > least else { return false }
    findLeast(total)
    guard candidates[place].weight > least else { return false }
    admitted = candidates[place].weight
    candidates[place] = Candidate()
    return true
  }

  private mutating func findLeast(_ total: (Int) -> Int) {
    (leastNumber, least) = (nil, 0)
    for number in members.indices {
      guard let weight = weight(of: number, total), leastNumber == nil || weight < least else { continue }
      (leastNumber, least) = (number, weight)
    }
  }

  private func weight(of number: Int, _ total: (Int) -> Int) -> Int? {
    members[number].map { $0.weight + total(number) - $0.counted }
  }

  /// Halves all weights, once for each half-life that has passed.
  mutating func decay(at now: Instant, total: (Int) -> Int) {
    guard let begun = halvedAt, now - begun >= Self.halfLife else { return }
    let times = Int((now - begun) / Self.halfLife)
    halvedAt = begun + Self.halfLife * times
    for number in members.indices {
      guard let weight = weight(of: number, total) else { continue }
      members[number] = Member(weight: weight >> times, counted: total(number))
    }
    for place in candidates.indices { candidates[place].weight >>= times }
    least = 0
  }

  /// Takes in the host that was found busy last, under the number of a tally where nothing has happened yet.
  mutating func admit(_ number: Int, at now: Instant) {
    if halvedAt == nil { halvedAt = now }
    members[number] = Member(weight: admitted, counted: 0)
    (admitted, least) = (0, 0)
  }

  mutating func remove(_ number: Int) {
    members[number] = nil
    leastNumber = nil
  }
}
