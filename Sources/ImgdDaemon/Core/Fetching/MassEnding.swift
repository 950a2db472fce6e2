/// Ends many fetches in parts: queued ones first, or they would be started only to be ended.
final class MassEnding {
  /// The most fetches that one step ends.
  private static let mostEnded = 16
  /// The most that it looks at.
  private static let mostExamined = 256

  typealias Part = (members: [FetchJob], end: UInt64?)

  /// The fetches after a number, as `JobRoll` has them.
  private let part: (_ number: UInt64, _ most: Int) -> Part
  private let isMeant: (FetchJob) -> Bool
  private let end: (FetchJob) -> Void
  /// Those that come later are left alone.
  private let newest: UInt64
  private var position: UInt64 = 0
  private var endsRunning = false
  /// How many it has ended.
  private(set) var count = 0

  init(
    upTo newest: UInt64, _ part: @escaping (_ number: UInt64, _ most: Int) -> Part,
    where isMeant: @escaping (FetchJob) -> Bool = { _ in true }, end: @escaping (FetchJob) -> Void
  ) {
    self.newest = newest
    self.part = part
    self.isMeant = isMeant
    self.end = end
  }

  /// Ends all fetches of a roll that nobody else uses.
  convenience init(_ roll: JobRoll, end: @escaping (FetchJob) -> Void) {
    self.init(upTo: roll.newest, { roll.part(after: $0, most: $1) }, end: end)
  }

  /// Ends some of them; returns whether there may be more.
  func step() -> Bool {
    let part = part(position, Self.mostExamined)
    let before = count
    for job in part.members {
      guard job.number <= newest else { return endPass() }
      position = job.number
      guard endsRunning || job.state == .queued, isMeant(job) else { continue }
      end(job)
      count += 1
      if count - before == Self.mostEnded { return true }
    }
    guard let next = part.end else { return endPass() }
    position = next
    return true
  }

  func endAll() { while step() {} }

  private func endPass() -> Bool {
    guard !endsRunning else { return false }
    endsRunning = true
    position = 0
    return true
  }
}
