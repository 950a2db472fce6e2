/// Fetches in the order of their numbers, for passing over them in parts.
///
/// A fetch that has ended leaves a gap; gaps are closed when they are more than half, so that a change
/// costs a few steps on the average, and a place is found by its number.
struct JobRoll {
  private struct Place {
    let number: UInt64
    var job: FetchJob?
  }

  private var places: [Place] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The number of the newest fetch that is or was here.
  var newest: UInt64 { places.last?.number ?? 0 }

  /// Takes in a fetch that came after all others.
  mutating func add(_ job: FetchJob) {
    precondition(newest < job.number, "fetches are numbered as they come")
    places.append(Place(number: job.number, job: job))
    count += 1
  }

  /// One of them; nil when there is none.
  var oldest: FetchJob? { places.first { $0.job != nil }?.job }

  mutating func remove(_ job: FetchJob) {
    let index = index(after: job.number - 1)
    guard index < places.count, places[index].job === job else { return }
    places[index].job = nil
    count -= 1
    if places.count > 2 * count + 16 { places.removeAll { $0.job == nil } }
  }

  /// Some of the fetches after a number, the oldest first, and the number up to which that was; nil
  /// where there are no more.
  func part(after number: UInt64, most: Int = 64) -> (jobs: [FetchJob], end: UInt64?) {
    let start = index(after: number)
    let end = min(start + most, places.count)
    let jobs = places[start..<end].compactMap(\.job)
    return (jobs, end < places.count ? places[end - 1].number : nil)
  }

  /// The first place with a greater number.
  private func index(after number: UInt64) -> Int {
    var (low, high) = (0, places.count)
    while low < high {
      let middle = (low + high) / 2
      if places[middle].number <= number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
