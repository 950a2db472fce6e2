// Members that share decoders by the time that they use, and not by the number of their orders.
//
// Each member has a stamp: the time that it has used, on the clock of its line. The smallest is next. An order is
// charged with what it is expected to take when it starts, and with what it took when it ends. The line's clock
// stands at the stamp of the member that was served last, and newcomers begin there, ahead of all who have had
// something: one that was away has saved nothing, and one that was passed over no more than a moment.
//
// The clock is also moved on by what was used, divided by all present: a member that owes much comes up in time,
// though there may be a newcomer for every order. Of a long order only the beginning counts here, or newcomers
// would wait for all who are owed that time.

/// Who takes turns with others of its kind: a user, a connection, or a share of one.
protocol TurnMember: Hashable {
  init(holding place: QueuePlace)
}

/// Lines of members that take turns.
struct TurnLine<Member: TurnMember, Line: PlaceLine>: PlaceLine {
  /// Members for which nothing waits or runs are remembered up to this number, if they owe time: of more, the one
  /// that owes least is forgotten.
  private static var mostDebtors: Int { 64 }

  private struct Turn {
    var stamp: Int64
    var running = 0
    /// It has not been served.
    var isNew = true
    var line = Line()

    var key: Int64 { isNew ? stamp - DecodeTime.leastCharge : stamp }
  }

  private var members: [Member: Turn] = [:]
  /// Those for which something waits, and those for which something quick does.
  private var waiting = KeyedHeap<Member>()
  private var quick = KeyedHeap<Member>()
  private var debtors = KeyedHeap<Member>()
  private var clock: Int64 = 0
  private var newcomers: Int64 = 0

  var isEmpty: Bool { waiting.isEmpty }
  var hasQuick: Bool { !quick.isEmpty }
  /// How many members are known.
  var count: Int { members.count }
  private var present: Int { members.count - debtors.count }

  mutating func insert(_ place: QueuePlace) {
    let member = Member(holding: place)
    if members[member] == nil { members[member] = Turn(stamp: stampOfNewcomer()) }
    debtors.remove(member)
    members[member]?.line.insert(place)
    lineUp(member)
  }

  mutating func remove(_ place: QueuePlace) {
    let member = Member(holding: place)
    members[member]?.line.remove(place)
    lineUp(member)
  }

  mutating func removeFirst(_ choice: OrderChoice) -> QueuePlace? {
    guard let member = (choice == .any ? waiting : quick).first else { return nil }
    return serve(member, choice)
  }

  /// The same, where not all members have the same choice: those with a quick one are to be few.
  mutating func removeFirst(by choice: (Member) -> OrderChoice) -> QueuePlace? {
    guard let member = first(by: choice) else { return nil }
    return serve(member, choice(member))
  }

  /// The member whose turn it is.
  func first(by choice: (Member) -> OrderChoice) -> Member? {
    waiting.first { choice($0) == .any || members[$0]?.line.hasQuick == true }
  }

  mutating func settle(_ place: QueuePlace, took time: DecodeTime) {
    let member = Member(holding: place)
    guard members[member] != nil else { return }
    members[member]?.stamp += time.charge - place.expected.charge
    members[member]?.running -= 1
    members[member]?.line.settle(place, took: time)
    moveClock(to: clock + min(time, .quick).charge / Int64(present))
    lineUp(member)
  }

  // MARK: Stamps

  private mutating func stampOfNewcomer() -> Int64 {
    newcomers = min(newcomers + 1, DecodeTime.leastCharge - 1)
    return clock + newcomers
  }

  private mutating func serve(_ member: Member, _ choice: OrderChoice) -> QueuePlace? {
    guard let stamp = members[member]?.stamp,
      let place = members[member]?.line.removeFirst(choice)
    else { return nil }
    moveClock(to: max(clock, stamp))
    members[member]?.stamp =
      max(stamp, clock - DecodeTime.quick.charge) + place.expected.charge
    members[member]?.isNew = false
    members[member]?.running += 1
    lineUp(member)
    return place
  }

  private mutating func moveClock(to time: Int64) {
    if time > clock { newcomers = 0 }
    clock = time
    while let key = debtors.firstKey, key <= clock, let member = debtors.first { forget(member) }
  }

  /// Puts a member to where it belongs by its stamp and by what waits for it.
  private mutating func lineUp(_ member: Member) {
    guard let turn = members[member] else { return }
    if turn.line.hasQuick { quick.insert(member, key: turn.key) } else { quick.remove(member) }
    if turn.line.isEmpty {
      waiting.remove(member)
      if turn.running == 0 { retire(member) }
    } else {
      waiting.insert(member, key: turn.key)
    }
  }

  /// Remembers what a member owes for which nothing waits or runs; without anybody else, nothing is owed.
  private mutating func retire(_ member: Member) {
    guard present > 1 else { return self = Self() }
    guard let stamp = members[member]?.stamp, stamp > clock else { return forget(member) }
    members[member]?.line = Line()
    debtors.insert(member, key: stamp)
    if debtors.count > Self.mostDebtors, let least = debtors.first { forget(least) }
  }

  private mutating func forget(_ member: Member) {
    debtors.remove(member)
    members[member] = nil
  }
}
