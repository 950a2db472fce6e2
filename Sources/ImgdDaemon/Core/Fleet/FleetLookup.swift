import ImgdCache
import ImgdSystem
import ImgdWire

/// A look at the fleet's server, or the claim of a picture that a look has found, and the fetches that
/// wait for the answer.
final class FleetLookup {
  enum Purpose {
    /// To show what is there, and nothing else.
    case reading
    /// To fetch it here if it is not there.
    case claiming
    /// To fetch or confirm here what is there.
    case replacing
  }

  /// Fetches that agree in it share one.
  struct Name: Hashable {
    let key: MergeKey
    let purpose: Purpose
  }

  private struct Waiter {
    let job: FetchJob
    let then: (FleetFinding) -> Void
  }

  let serial: UInt64
  let name: Name
  let begunAt: Instant
  /// Tells which purges came later.
  let purgeMark: Int
  /// Another host has the claim.
  var isHeld = false
  /// Ends the waiting.
  var limit: Timer?
  /// The tiers of this machine in which any of them wants the picture.
  private(set) var tiers: Set<Tier> = []
  private(set) var waiterCount = 0
  private var waiting: [Waiter?] = []
  /// So many have been told.
  private var told = 0

  init(serial: UInt64, name: Name, purgeMark: Int, at now: Instant) {
    self.serial = serial
    self.name = name
    self.purgeMark = purgeMark
    begunAt = now
  }

  func add(_ job: FetchJob, then: @escaping (FleetFinding) -> Void) {
    job.lookup = self
    job.lookupPlace = waiting.count
    waiting.append(Waiter(job: job, then: then))
    waiterCount += 1
    tiers.formUnion(job.request.tiers)
  }

  /// Leaves a gap, which is closed when half of the places are gaps.
  func remove(_ job: FetchJob) {
    guard job.lookup === self else { return }
    waiting[job.lookupPlace] = nil
    job.lookup = nil
    waiterCount -= 1
    if told == 0, waiting.count > 2 * waiterCount + 8 { closeGaps() }
  }

  private func closeGaps() {
    waiting = waiting.filter { $0 != nil }
    for (place, waiter) in waiting.enumerated() { waiter?.job.lookupPlace = place }
  }

  /// Tells the next of them, in the order in which they came; nobody may come any more.
  func tell(_ finding: FleetFinding, most: Int) {
    var left = most
    while told < waiting.count, left > 0 {
      let place = told
      told += 1
      guard let waiter = waiting[place] else { continue }
      remove(waiter.job)
      waiter.then(finding)
      left -= 1
    }
  }
}
