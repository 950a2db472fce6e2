internal import ImgdSystem

/// Purges that wait for one kind of job, and the ones that it is being done for.
struct PurgeLane {
  /// How many are dealt with together.
  private static let mostAtOnce = 64

  private var waiting = Fifo<PurgeWork>()
  private(set) var inHand: [PurgeWork] = []
  /// The job for those being dealt with has begun, and goes on.
  var isUnderWay = false

  var isEmpty: Bool { waiting.isEmpty && inHand.isEmpty }

  var all: [PurgeWork] { inHand + waiting.all }

  mutating func append(_ work: PurgeWork) { waiting.append(work) }

  /// Takes some in hand, when there are none; answers whether there are any.
  mutating func takeInHand() -> Bool {
    if inHand.isEmpty {
      while inHand.count < Self.mostAtOnce, let work = waiting.popFirst() { inHand.append(work) }
    }
    return !inHand.isEmpty
  }

  /// Lets go of the first ones in hand.
  mutating func letGo(of count: Int) { inHand.removeFirst(count) }

  /// Lets go of all that are in hand.
  mutating func letGo() -> [PurgeWork] {
    defer { (inHand, isUnderWay) = ([], false) }
    return inHand
  }
}
