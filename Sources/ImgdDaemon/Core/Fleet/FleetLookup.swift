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
  private var waiting = Roll<Waiter>()
  /// The place of the last one that was told.
  private var told: UInt64 = 0

  init(serial: UInt64, name: Name, purgeMark: Int, at now: Instant) {
    self.serial = serial
    self.name = name
    self.purgeMark = purgeMark
    begunAt = now
  }

  var waiterCount: Int { waiting.count }

  func add(_ job: FetchJob, then: @escaping (FleetFinding) -> Void) {
    let place = waiting.append(Waiter(job: job, then: then))
    job.waitingFor = .fleet(self, place: place)
    tiers.formUnion(job.request.tiers)
  }

  /// Answers whether the job has waited for this.
  @discardableResult
  func remove(_ job: FetchJob) -> Bool {
    guard case .fleet(let lookup, let place) = job.waitingFor, lookup === self else { return false }
    waiting.remove(place)
    job.waitingFor = .disk
    return true
  }

  /// Tells the next of them, in the order in which they came; nobody may come any more.
  func tell(_ finding: FleetFinding, most: Int) {
    var left = most
    while left > 0, told < waiting.newest {
      let part = waiting.part(after: told, most: left)
      told = part.end ?? waiting.newest
      for waiter in part.members where remove(waiter.job) {
        waiter.then(finding)
        left -= 1
      }
    }
  }
}
