import Glibc

/// Traces that are the same in every run.
enum GeneratedTrace {
  /// What comes between the requests of people.
  enum Interlude {
    case nothing
    /// Every so often somebody asks for many pictures once: a crawler, a backup, a long page.
    case scans
    /// Every so often somebody goes on through a list that is longer than the cache, from its beginning
    /// again when it has ended.
    case loop
    /// People ask for other pictures altogether, five times.
    case change
  }

  /// People's requests follow a Zipf distribution with exponent 0.9, as far as pictures go a usual one.
  static func make(
    _ name: String, pictures: Int, requests: Int, hasSizes: Bool, _ interlude: Interlude = .nothing
  ) -> Trace {
    let phases = interlude == .change ? 5 : 1
    var (trace, random) = (Trace(name, phases: phases), TraceRandom())
    let addPictures: (inout Trace, inout TraceRandom, Int) -> [Int32] = { trace, random, count in
      (0..<count).map { _ in trace.addKey(size: size(hasSizes, &random)) }
    }
    let zipf = Zipf(count: pictures, exponent: 0.9)
    let part = pictures / 5
    let looped = interlude == .loop ? addPictures(&trace, &random, part) : []
    for _ in 0..<phases {
      let popular = addPictures(&trace, &random, pictures)
      for start in stride(from: 0, to: requests / phases, by: part + part / 2) {
        for _ in 0..<part { trace.ask(popular[zipf.next(&random)]) }
        for number in start / 3..<start / 3 + part / 2 {
          switch interlude {
          case .nothing, .change: trace.ask(popular[zipf.next(&random)])
          case .scans: trace.ask(trace.addKey(size: size(hasSizes, &random)))
          case .loop: trace.ask(looped[number % part])
          }
        }
      }
    }
    return trace
  }

  /// From 1 kB to 1 MB, every size between two powers of two as likely.
  private static func size(_ varies: Bool, _ random: inout TraceRandom) -> Int {
    varies ? Int(exp2(Double.random(in: 10..<20, using: &random))) : 1
  }
}

/// Numbers of which the n-th is n to the power of the exponent times rarer than the first.
private struct Zipf {
  private var sums: [Double] = []

  init(count: Int, exponent: Double) {
    var sum = 0.0
    for number in 1...count {
      sum += pow(Double(number), -exponent)
      sums.append(sum)
    }
  }

  func next(_ random: inout TraceRandom) -> Int {
    let wanted = Double.random(in: 0..<(sums.last ?? 1), using: &random)
    var (low, high) = (0, sums.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] <= wanted { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// The same numbers in every run (SplitMix64).
struct TraceRandom: RandomNumberGenerator {
  private var state: UInt64 = 1

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
