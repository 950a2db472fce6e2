// Finds the addresses of names.
//
// The system's look-up blocks its thread until the name servers have answered, or have failed to. curl
// would start a thread for each, and leave it behind when the transfer is aborted. So the engine asks
// on its own: on a few threads, and once for everyone who wants the same name. Other names wait in
// line, where users take turns. A user holds no more threads than are left free, so that names whose
// servers never answer cannot take the last thread from names that come later.
//
// Addresses are used for a minute. A name that was not found is asked for again each time.

internal import ImgdSystem

final class NameResolver {
  /// The most look-ups at a time.
  static let mostThreads = 16

  private unowned let loop: EventLoop
  private let count: HoldingsCount
  private let threads: LookupThreads
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
    let answers = try loop.makeMailbox { [door] (answer: (name: String, NameAnswer)) in
      door.resolver?.found(answer.1, for: answer.name)
    }
    threads = LookupThreads(lookUp: lookUp) { name, answer in answers.post((name, answer)) }
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
    while running < Self.mostThreads, let (lookup, uid) = line.next(where: mayBegin) {
      lookup.startedFor = uid
      held[uid, default: 0] += 1
      running += 1
      threads.begin(lookup.name)
    }
  }

  private func mayBegin(_ uid: UInt32) -> Bool { held[uid, default: 0] < Self.mostThreads - running }

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
