/// Stamps for members that take turns: the smallest stamp is next.
///
/// A member that was served goes behind all others. A newcomer goes just ahead of the one that was served
/// last: it waits for those that wait already, and never for one that has had its turn, also when that
/// one has nothing left and comes again.
struct TurnClock<Member: Equatable> {
  private static var step: Int64 { 1 << 20 }

  private var lastService: Int64 = 0
  private var lastServed: Member?
  private var newcomers: Int64 = 0

  mutating func stamp(for newcomer: Member) -> Int64 {
    if newcomer == lastServed { return lastService }
    newcomers = min(newcomers + 1, Self.step - 1)
    return lastService - Self.step + newcomers
  }

  mutating func stamp(forServed member: Member) -> Int64 {
    lastService += Self.step
    lastServed = member
    newcomers = 0
    return lastService
  }
}
