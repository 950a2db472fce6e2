import Glibc
import ImgdSystem
import ImgdTestSupport

/// Lets one fault follow another in an order that the seed decides: each of them once before any comes again, and now and
/// then two at once.
final class FaultPlan {
  private let house: House
  private let ledger: Ledger
  private let faults: [Fault]
  private var noise: Noise
  private var left: [Fault] = []
  private var probes: UInt64 = 0

  init(_ faults: [Fault], in house: House, _ ledger: Ledger, seed: UInt64) {
    self.faults = faults
    self.house = house
    self.ledger = ledger
    noise = Noise(seed: seed)
  }

  /// One fault, or two, from the beginning to when everything works again.
  func playNext() throws {
    var played = [next()]
    let hasCompany = !played[0].isAlone && Int.random(in: 0..<4, using: &noise) == 0
    if hasCompany, let other = left.firstIndex(where: { !$0.isAlone }) { played.append(left.remove(at: other)) }
    for fault in played {
      ledger.begin(fault.name)
      house.gallery.diary.note(fault.name)
      try fault.begin(house)
    }
    let lasts = played.map(\.lasts).max { $0.upperBound < $1.upperBound } ?? 0...0
    poll(nil, 0, CInt.random(in: CInt(lasts.lowerBound)...CInt(lasts.upperBound), using: &noise))
    for fault in played { try fault.end(house) }
    house.gallery.diary.note("over")
    let recovery = awaitHealth()
    for fault in played { ledger.settle(fault.name, after: recovery) }
    if recovery == nil { ledger.wrong("it does not recover from \(played.map(\.name)): \(complaint)") }
    if house.daemon.hasEnded {
      try house.restart(ending: { ledger.wrong("the daemon has ended, with \(house.daemon.waitForEnd())") })
    }
    // A while without a fault.
    poll(nil, 0, CInt.random(in: 200...1_000, using: &noise))
  }

  private func next() -> Fault {
    if left.isEmpty { left = faults.shuffled(using: &noise) }
    return left.removeFirst()
  }

  // MARK: Recovery

  private var complaint = ""

  /// How long it takes until everything works; nil when it does not.
  private func awaitHealth() -> Duration? {
    let start = Instant.current
    let isWell = try? becomes {
      probes += 1
      do { complaint = try house.complaint(probes) ?? "" } catch { complaint = "\(error)" }
      return complaint.isEmpty
    }
    return isWell == true ? Instant.current - start : nil
  }
}
