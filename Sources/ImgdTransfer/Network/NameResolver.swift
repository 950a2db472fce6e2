// The system's look-up blocks its thread until the name servers have answered or failed. curl would start a thread
// for each, and leave it behind when the transfer is aborted. So the engine has threads of its own, a few, and asks
// once for all who want a name. Other names wait in line, where users take turns. A user holds no more threads than
// are left free, so that names whose servers never answer cannot take the last thread from names that come later.
//
// Addresses are used for a minute. A name that was not found is asked for again each time.

internal import ImgdSystem

final class NameResolver {
  static let mostThreads = 16

  private unowned let loop: EventLoop
  private let count: HoldingsCount
  private let threads: WorkThreads<String, NameAnswer>
  private let answers: Mailbox<(name: String, NameAnswer)>
  private var resolved = ResolvedNames()
  /// All look-ups that wait in line or are under way.
  private var lookups: [String: NamedLookup] = [:]
  private var line = LookupLine()
  private var held: [UInt32: Int] = [:]
  private(set) var running = 0 { didSet { count.lookups.set(running) } }
  private var questions = 0

  init(loop: EventLoop, count: HoldingsCount, lookUp: @escaping @Sendable (String) -> NameAnswer) throws(SystemFailure)
  {
    self.loop = loop
    self.count = count
    let door = Door()
    answers = try loop.makeMailbox { [door] (answer: (name: String, NameAnswer)) in
      door.resolver?.found(answer.1, for: answer.name)
    }
    threads = WorkThreads(name: "imgd-names", carryOut: lookUp) { [answers] in answers.post(($0, $1)) }
    door.resolver = self
  }

  /// Leads from the mailbox, which is made first, to the resolver.
  private final class Door { weak var resolver: NameResolver? }

  /// Forgets all look-ups, and leaves those under way to end on their own.
  func close() {
    lookups.removeAll()
    threads.close()
  }

  /// The addresses of a name that was looked up a moment ago.
  func known(_ name: String) -> [IPAddress]? { resolved[name, at: loop.now] }

  /// Looks a name up; `answer` is called once, never within this call.
  func find(_ name: String, for uid: UInt32, _ answer: @escaping (NameAnswer) -> Void) -> NamedLookup.Question {
    let lookup = lookups[name] ?? NamedLookup(name)
    lookups[name] = lookup
    if lookup.startedFor == nil, !lookup.waits(for: uid) { line.add(lookup, for: uid) }
    questions += 1
    let question = lookup.ask(for: uid) { [unowned self] in
      questions -= 1
      answer($0)
    }
    beginNext()
    return question
  }

  /// Withdraws a question, which is then not answered. A look-up under way goes on.
  func withdraw(_ question: NamedLookup.Question) {
    guard let lookup = question.lookup, lookup.withdraw(question) else { return }
    questions -= 1
    if lookup.startedFor == nil, !lookup.isWanted { lookups[lookup.name] = nil }
    line.tidy(live: questions)
  }

  private func beginNext() {
    while running < Self.mostThreads,
      let (lookup, uid) = line.next(where: { held[$0, default: 0] < Self.mostThreads - running })
    {
      lookup.startedFor = uid
      held[uid, default: 0] += 1
      running += 1
      do throws(SystemFailure) { try threads.begin(lookup.name) } catch {
        answers.post((lookup.name, .shortage(error.description)))
      }
    }
  }

  private func found(_ answer: NameAnswer, for name: String) {
    guard let lookup = lookups.removeValue(forKey: name), let uid = lookup.startedFor else { return }
    running -= 1
    let rest = held[uid, default: 1] - 1
    held[uid] = rest > 0 ? rest : nil
    if case .addresses(let addresses) = answer { resolved.add(addresses, for: name, at: loop.now) }
    lookup.answer(with: answer)
    beginNext()
  }
}

/// One name that is looked up, and everybody who waits for its addresses.
final class NamedLookup {
  /// One transfer's wait for a name.
  final class Question {
    fileprivate(set) weak var lookup: NamedLookup?
    let uid: UInt32
    fileprivate let ticket: UInt64
    let answer: (NameAnswer) -> Void

    fileprivate init(to lookup: NamedLookup, by uid: UInt32, ticket: UInt64, answer: @escaping (NameAnswer) -> Void) {
      self.lookup = lookup
      self.uid = uid
      self.ticket = ticket
      self.answer = answer
    }
  }

  let name: String
  /// The user whose turn it took; nil while it waits in line.
  var startedFor: UInt32?
  private var questions: [UInt64: Question] = [:]
  private var askers: [UInt32: Int] = [:]
  private var lastTicket: UInt64 = 0

  init(_ name: String) { self.name = name }

  var isWanted: Bool { !questions.isEmpty }

  func waits(for uid: UInt32) -> Bool { startedFor == nil && askers[uid] != nil }

  func ask(for uid: UInt32, _ answer: @escaping (NameAnswer) -> Void) -> Question {
    lastTicket += 1
    let question = Question(to: self, by: uid, ticket: lastTicket, answer: answer)
    questions[lastTicket] = question
    askers[uid, default: 0] += 1
    return question
  }

  /// Returns false if the question has been answered already.
  func withdraw(_ question: Question) -> Bool {
    guard questions.removeValue(forKey: question.ticket) != nil else { return false }
    let rest = askers[question.uid, default: 1] - 1
    askers[question.uid] = rest > 0 ? rest : nil
    return true
  }

  /// Answers all questions, in the order in which they were asked; an answer may withdraw other questions.
  func answer(with answer: NameAnswer) {
    for ticket in questions.keys.sorted() { questions.removeValue(forKey: ticket)?.answer(answer) }
  }
}

/// Look-ups that wait for a thread: users take turns, and those of one user keep the order of arrival. The line holds
/// claims. A claim is void when its look-up has begun, in the turn of another user who asks for the same name, or
/// when its user no longer wants it. Void claims are dropped as they come up, or all once they are the majority.
struct LookupLine {
  private var claims: [UInt32: Fifo<NamedLookup>] = [:]
  private var turns = Fifo<UInt32>()
  /// The number of claims, valid and void.
  private(set) var count = 0

  mutating func add(_ lookup: NamedLookup, for uid: UInt32) {
    if claims[uid] == nil { turns.append(uid) }
    claims[uid, default: Fifo()].append(lookup)
    count += 1
  }

  mutating func next(where mayBegin: (UInt32) -> Bool) -> (lookup: NamedLookup, uid: UInt32)? {
    for _ in 0..<turns.count {
      guard let uid = turns.popFirst() else { return nil }
      guard mayBegin(uid) else {
        turns.append(uid)
        continue
      }
      if let lookup = takeFirst(of: uid) {
        turns.append(uid)
        return (lookup, uid)
      }
      claims[uid] = nil
    }
    return nil
  }

  private mutating func takeFirst(of uid: UInt32) -> NamedLookup? {
    while let lookup = claims[uid]?.popFirst() {
      count -= 1
      if lookup.waits(for: uid) { return lookup }
    }
    return nil
  }

  /// Drops void claims when they are the majority; at most `live` are valid.
  mutating func tidy(live: Int) {
    guard count > 2 * live + 16 else { return }
    var kept = LookupLine()
    for uid in turns.all {
      for lookup in claims[uid]?.all ?? [] where lookup.waits(for: uid) { kept.add(lookup, for: uid) }
    }
    self = kept
  }
}

/// The addresses of names, for as long as they are used without asking again. They are limited in number and age.
/// There is no timer: old ones are removed when new ones come.
struct ResolvedNames {
  static let most = 1_024
  static let lifetime = Duration.seconds(60)

  private var entries: [String: (addresses: [IPAddress], since: Instant)] = [:]
  /// Every entry once, the oldest first; one that was replaced appears twice until it comes up.
  private var ages = Fifo<(name: String, since: Instant)>()

  var count: Int { entries.count }

  subscript(name: String, at now: Instant) -> [IPAddress]? {
    guard let entry = entries[name], now - entry.since < Self.lifetime else { return nil }
    return entry.addresses
  }

  mutating func add(_ addresses: [IPAddress], for name: String, at now: Instant) {
    entries[name] = (addresses, now)
    ages.append((name, now))
    while ages.count > Self.most, let oldest = ages.popFirst() {
      if entries[oldest.name]?.since == oldest.since { entries[oldest.name] = nil }
    }
  }
}
