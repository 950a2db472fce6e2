internal import ImgdSystem

/// Purges that wait for one kind of job, and those for which it is being done.
struct PurgeLane {
  /// How many purges are dealt with together.
  private static let mostAtOnce = 64

  private var waiting = Fifo<PurgeWork>()
  private(set) var inHand: [PurgeWork] = []
  /// Whether the job for those in hand has begun, and has to go on.
  var isUnderWay = false

  var isEmpty: Bool { waiting.isEmpty && inHand.isEmpty }

  var all: [PurgeWork] { inHand + waiting.all }

  mutating func append(_ work: PurgeWork) { waiting.append(work) }

  /// Takes some in hand if there are none, and returns whether there are any then.
  mutating func takeInHand() -> Bool {
    if inHand.isEmpty { while inHand.count < Self.mostAtOnce, let work = waiting.popFirst() { inHand.append(work) } }
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
