// The shares of a tick.
//
// A client's bytes may ask for work of any length: a thousand lines, or one that goes through a hundred thousand
// entries. New work gets a first turn at once. What is left when that is over waits here, and goes on in turns with all
// others, at the end of ticks, when everybody who has come in the meantime has had a first turn. So a client waits for
// the first turns of the others and for one share of long work, never for the whole of it.
//
//   first turn ──over──► newcomers ──over──► others ──┐
//                                              ▲      │ over
//                                              └──────┘
//
// Turns are measured in time: one step of one command costs what ten thousand of another do. Work of no single
// client, such as the answers to all who wait for one download, takes turns as clients do.

import ImgdSystem

/// Somebody whose work may be longer than a turn.
protocol TurnTaker: AnyObject {
  /// Goes on until the turn is over; returns whether there is more to do at this moment.
  func takeTurn() -> Bool
}

final class Turns {
  // In nanoseconds, since arithmetic on durations takes 128 bits.

  /// The length of a first turn: enough for the hits that one read brings.
  private static let firstTurn: Int64 = 200_000
  /// The length of later turns.
  private static let turn: Int64 = 100_000
  /// The time in one tick for those whose first turn is over.
  private static let longWork: Int64 = 150_000
  /// Once first turns have taken this long in one tick, each is only one step long.
  private static let firstTurns: Int64 = 1_000_000

  private static let stepsBetweenLooks = 32
  /// How many of those that wait for one outcome are told in one step.
  static let waitersAtOnce = 16
  /// The steps that a hit with a line of a known shape counts for.
  static let hit = 1

  private let loop: EventLoop
  private var newcomers = Fifo<any TurnTaker>()
  private var others = Fifo<any TurnTaker>()
  private var isTurnOfOthers = false
  /// The clock as it was last looked at: a moment within the turn that is being taken.
  private(set) var lastLook: Instant
  /// The end of that turn, in nanoseconds.
  private var end: Int64
  private var steps = 0

  init(loop: EventLoop) {
    self.loop = loop
    lastLook = loop.now
    end = loop.now.nanoseconds
    loop.share { [unowned self] in carryOutSome() }
  }

  /// Begins the turn of one that has just got something to do.
  func beginFirst() {
    let now = loop.moment
    let isEarly = now.nanoseconds - loop.now.nanoseconds < Self.firstTurns
    begin(isEarly ? Self.firstTurn : 0, at: now)
  }

  /// Whether the tick still has time for more than one step by everybody.
  var hasTimeForFirst: Bool { loop.moment.nanoseconds - loop.now.nanoseconds < Self.firstTurns }

  /// Begins a turn that ends with the work: there is nobody left that it could hold up.
  func beginLast() { begin(3_600_000_000_000, at: loop.moment) }

  private func begin(_ length: Int64, at now: Instant) {
    lastLook = now
    end = now.nanoseconds + length
    steps = length > 0 ? 0 : Self.stepsBetweenLooks
  }

  /// Whether the turn is over, after `count` more steps.
  @inline(__always) func isOver(after count: Int = 1) -> Bool {
    steps &+= count
    return steps >= Self.stepsBetweenLooks && look()
  }

  private func look() -> Bool {
    lastLook = loop.moment
    guard lastLook.nanoseconds < end else { return true }
    steps = 0
    return false
  }

  /// What a step counts for that is long by itself, such as any other command: the clock is looked at after it.
  static var longStep: Int { stepsBetweenLooks }

  /// Lines up one that has more to do; it must not be in line already.
  func wait(_ taker: any TurnTaker) {
    newcomers.append(taker)
    loop.beginLongWork()
  }

  /// Carries out work that belongs to no single client, in steps, until one returns that nothing is left.
  func carryOut(_ step: @escaping () -> Bool) { wait(SteppedWork(step, in: self)) }

  /// Carries out such work with the first step at once.
  func start(_ step: @escaping () -> Bool) { if step() { carryOut(step) } }

  /// Forgets all who wait, at the end, when no tick follows: they hold the objects that hold this one.
  func removeAll() {
    var (first, second) = (Fifo<any TurnTaker>(), Fifo<any TurnTaker>())
    swap(&first, &newcomers)
    swap(&second, &others)
  }

  /// Takes turns for as long as a tick allows; returns whether anybody is left.
  private func carryOutSome() -> Bool {
    var now = loop.moment
    let close = now.nanoseconds + Self.longWork
    while now.nanoseconds < close, let taker = next() {
      begin(Self.turn, at: now)
      if taker.takeTurn() { others.append(taker) }
      now = loop.moment
    }
    return !newcomers.isEmpty || !others.isEmpty
  }

  /// Takes newcomers and the others alternately, so that neither kind waits for the last of the other.
  private func next() -> (any TurnTaker)? {
    isTurnOfOthers.toggle()
    return isTurnOfOthers ? others.popFirst() ?? newcomers.popFirst() : newcomers.popFirst() ?? others.popFirst()
  }
}

private final class SteppedWork: TurnTaker {
  private let step: () -> Bool
  private unowned let turns: Turns

  init(_ step: @escaping () -> Bool, in turns: Turns) {
    self.step = step
    self.turns = turns
  }

  func takeTurn() -> Bool {
    repeat { guard step() else { return false } } while !turns.isOver(after: Turns.longStep)
    return true
  }
}
