// Decoders are processes of their own, since they read the bytes of strangers with libraries written in C.
//
// They are started when orders wait and no decoder is free, up to the configured number, and end when they
// have had nothing to do for a while, have had many orders, or memory is short. Each order goes to one of
// them and gets exactly one answer, whatever becomes of the process.

import ImgdDecode
import ImgdPicture
import ImgdProgram
import ImgdSystem

final class DecoderPool: Decoding {
  /// After this many orders a decoder is replaced: the memory that its libraries have leaked goes with it.
  static let mostOrders = 2_000

  private var settings: Configuration.Decode
  private let loop: EventLoop
  /// Starting a decoder takes a millisecond, for which the loop must not wait. The thread lives as long as the pool:
  /// decoders ask the kernel to be ended with the thread that has started them.
  private let starter: WorkerThread<DecoderLocation>
  private(set) var starts = DecoderStarts()
  private var queue = DecodeQueue()
  /// In the order of their starts: the first that is free takes an order, so that surplus ones stay idle and end.
  private(set) var workers: [DecoderWorker] = []
  /// The orders that decoders are working on, except those that were given up.
  private var begun: [UInt64: QueuedOrder] = [:]
  private(set) var abilities: DecoderAbilities?
  private var asking: [(Result<DecoderAbilities, DecodeFailure>) -> Void] = []
  private var counts = DecodingFigures()
  private var isStopped = false
  /// Fires at the end of a pause in which no decoder is started.
  private var pauseEnd: Timer?

  init(_ settings: Configuration.Decode, program: DecoderLocation = .ofDaemon, loop: EventLoop) throws(SystemFailure) {
    self.settings = settings
    self.loop = loop
    starter = try WorkerThread(name: "imgd-starter", on: loop) { program }
  }

  deinit { pauseEnd?.cancel() }

  func begin(_ queued: QueuedOrder) {
    guard !isStopped else { return queued.then(.failure(.stopping)) }
    queue.add(queued, at: loop.now)
    advance()
  }

  /// Joins an order that waits, or one that runs: it may come back.
  func join(serial: UInt64, _ claim: DecodeClaim) {
    if !queue.join(serial, claim) { begun[serial]?.claims[claim, default: 0] += 1 }
    advance()
  }

  func leave(serial: UInt64, _ claim: DecodeClaim) {
    if !queue.leave(serial, claim) { begun[serial]?.claims.countDown(claim) }
  }

  func abort(serial: UInt64) { if queue.remove(serial: serial) == nil { begun[serial] = nil } }

  func learnAbilities(then: @escaping (Result<DecoderAbilities, DecodeFailure>) -> Void) {
    // What an earlier decoder could do means nothing when none starts any more.
    if let abilities, starts.paused == nil || workers.contains(where: \.isLive) { return then(.success(abilities)) }
    guard !isStopped else { return then(.failure(.stopping)) }
    asking.append(then)
    advance()
  }

  var writable: Set<PictureFormat>? { abilities?.writes }

  var figures: DecodingFigures {
    var figures = counts
    figures.active = working
    figures.workers = figures.active + workers.count { $0.phase == .idle }
    figures.mostWorkers = mostWorkers
    figures.queued = queue.count
    figures.latencies = queue.latencies
    return figures
  }

  /// Takes other settings, and forgets the obstacles that were found with the old ones.
  func apply(_ settings: Configuration.Decode) {
    self.settings = settings
    starts = DecoderStarts()
    if let abilities, lack(in: abilities) != nil { self.abilities = nil }
    for worker in workers where worker.phase == .idle { settle(worker) }
    advance()
  }

  /// Ends decoders that have nothing to do: memory is short.
  func retireIdle() { for worker in workers where worker.phase == .idle { worker.end() } }

  /// Ends all decoders. No order gets an answer from here on.
  func stop() {
    isStopped = true
    pauseEnd?.cancel()
    begun = [:]
    asking = []
    _ = queue.removeAll(at: loop.now)
    for worker in workers { worker.end() }
    starter.stop()
    workers = []
  }

  // MARK: Who does what

  private var mostWorkers: Int {
    switch settings.workers {
    case .auto: Processors.count
    case .count(let count): count
    }
  }

  /// Hands out orders, and starts more decoders where they are needed.
  private func advance() {
    while !queue.isEmpty, let worker = workers.first(where: { $0.phase == .idle }),
      let next = queue.removeNext(forLast: working + 1 >= mostWorkers, at: loop.now)
    {
      give(next, to: worker)
    }
    let wanted = queue.count + (asking.isEmpty ? 0 : 1)
    while starting < min(wanted, starts.areProven ? .max : 1), hasUseForAnother, starts.obstacle(at: loop.now) == nil,
      !isStopped
    {
      start()
    }
    giveUpIfHopeless()
  }

  private var starting: Int { workers.count { $0.phase == .starting } }
  private var working: Int { workers.count { $0.phase == .working } }

  /// Whether another decoder may be started and could be given an order.
  private var hasUseForAnother: Bool {
    workers.count < mostWorkers && (!asking.isEmpty || queue.hasNext(forLast: workers.count + 1 >= mostWorkers))
  }

  private func give(_ queued: QueuedOrder, to worker: DecoderWorker) {
    let serial = queued.order.serial
    let order: DecodeOrder
    do { order = try queued.order.inMemory() } catch {
      counts.failed += 1
      queue.settle(serial, at: loop.now)
      return queued.then(.failure(DecodeFailure(.unavailable, "an order cannot be given to a decoder: \(error)")))
    }
    guard worker.begin(order, within: settings.timeout) else {
      queue.settle(serial, at: loop.now)
      return queue.add(queued, at: loop.now)
    }
    begun[serial] = queued
  }

  private func start() {
    let memory = settings.memory
    let worker = DecoderWorker(memory: memory, on: loop) { [unowned self] in receive($1, of: $0) }
    workers.append(worker)
    let job: @Sendable (DecoderLocation) -> Result<StartedDecoder, FailedDecoderStart> = { program in
      Result { () throws(FailedDecoderStart) in try StartedDecoder(program, memory: memory) }
    }
    starter.submit(job) { worker.adopt($0) }
  }

  /// If there is no decoder and none can be started, only the end of a first pause is worth waiting for.
  private func giveUpIfHopeless() {
    guard let obstacle = starts.obstacle(at: loop.now), !workers.contains(where: \.isLive) else { return }
    tellAsking(.failure(obstacle))
    guard starts.areHopeless else { return }
    for queued in queue.removeAll(at: loop.now) {
      counts.failed += 1
      queued.then(.failure(obstacle))
    }
  }

  private func tellAsking(_ result: Result<DecoderAbilities, DecodeFailure>) {
    let asking = asking
    self.asking = []
    for then in asking { then(result) }
  }

  // MARK: What they report

  private func receive(_ report: DecoderWorker.Report, of worker: DecoderWorker) {
    switch report {
    case .ready(let abilities): admit(worker, with: abilities)
    case .failedStart(let failure): note(failure)
    case .settled(let answer, let serial):
      queue.settle(serial, at: loop.now)
      settle(worker)
      finish(serial, answer)
    case .returned(let serial, let failure):
      queue.settle(serial, at: loop.now)
      giveAgain(serial, orFail: failure)
    case .broke(let reason):
      counts.killed += 1
      Log.warning(.decoder, .decoderBroke, reason)
    case .gone: workers.removeAll { $0 === worker }
    }
    advance()
  }

  /// Lets a new decoder take orders, if its sandbox is as it must be.
  private func admit(_ worker: DecoderWorker, with abilities: DecoderAbilities) {
    if let lack = lack(in: abilities) {
      worker.end()
      return note(lack)
    }
    starts.noteSuccess()
    self.abilities = abilities
    settle(worker)
    tellAsking(.success(abilities))
  }

  private func lack(in abilities: DecoderAbilities) -> FailedDecoderStart? {
    let lacking = DecoderAbilities.Layers.all.subtracting(abilities.layers)
    return settings.sandbox == .bestEffort || lacking.isEmpty ? nil : .lacking(lacking)
  }

  private func note(_ failure: FailedDecoderStart) {
    starts.noteFailure(failure, at: loop.now)
    if let pause = starts.paused, loop.now < pause.until {
      Log.warning(.decoder, .decoderUnavailable, failure.reason)
      pauseEnd?.cancel()
      pauseEnd = loop.schedule(after: pause.until - loop.now) { [unowned self] in advance() }
    }
    tellAsking(.failure(DecodeFailure(failure)))
  }

  private func finish(_ serial: UInt64, _ answer: DecodeAnswer) {
    if case .failure = answer { counts.failed += 1 } else { counts.completed += 1 }
    begun.removeValue(forKey: serial)?.then(answer)
  }

  /// Gives an order to a decoder once more: an order that ends every decoder must not go round for ever.
  private func giveAgain(_ serial: UInt64, orFail failure: DecodeFailure) {
    guard var queued = begun.removeValue(forKey: serial) else { return }
    guard !queued.wasReturned else {
      begun[serial] = queued
      return finish(serial, .failure(failure))
    }
    queued.wasReturned = true
    queue.add(queued, at: loop.now)
  }

  /// Keeps an idle worker, unless it is surplus, outdated or has had enough orders.
  private func settle(_ worker: DecoderWorker) {
    guard worker.phase == .idle else { return }
    let isSurplus = workers.count(where: \.isLive) > mostWorkers
    let isOutdated = worker.memory != settings.memory || worker.abilities.flatMap(lack(in:)) != nil
    if isSurplus || isOutdated || worker.orders >= Self.mostOrders {
      worker.leave()
    } else {
      worker.rest(for: settings.idleExit)
    }
  }
}

extension DecodeOrder {
  /// The same order, with its picture in a memfd.
  fileprivate func inMemory() throws(SystemFailure) -> DecodeOrder {
    DecodeOrder(serial: serial, format: format, picture: try picture.shareable(), rendition: rendition, limits: limits)
  }
}

extension DecodeFailure {
  fileprivate static var stopping: DecodeFailure { DecodeFailure(.stopped, "the daemon stops") }
}

/// Whether it is worth trying to start a decoder, after the outcome of earlier tries.
///
/// Where a person has to do something first, one failure is enough, and is remembered for a while: requests must
/// not start a process each. Other failures are given three tries in a row before a shorter pause. Orders wait for
/// the end of the first such pause, and no longer: when three more tries fail, it is as if a person were needed.
struct DecoderStarts {
  static let lastingPause = Duration.seconds(60)
  static let pause = Duration.seconds(5)
  static let mostInARow = 3

  private var failed = 0
  private var pauses = 0
  private(set) var paused: (because: DecodeFailure, until: Instant)?

  /// Whether several may be started at once: one has worked, and none has failed since.
  private(set) var areProven = false

  /// Why none is started at this moment; nil when one may be.
  func obstacle(at now: Instant) -> DecodeFailure? {
    guard let paused, now < paused.until else { return nil }
    return paused.because
  }

  /// Whether it is not worth waiting for the end of a pause.
  private(set) var areHopeless = false

  mutating func noteSuccess() {
    self = DecoderStarts()
    areProven = true
  }

  mutating func noteFailure(_ failure: FailedDecoderStart, at now: Instant) {
    areProven = false
    // If several were started together, the last of them fail during the pause, and do not count as further tries.
    guard failure.isLasting || obstacle(at: now) == nil else { return }
    failed += 1
    guard failure.isLasting || failed >= Self.mostInARow else { return }
    failed = 0
    pauses += 1
    areHopeless = failure.isLasting || pauses > 1
    let length = failure.isLasting ? Self.lastingPause : Self.pause
    paused = (DecodeFailure(failure), now + length)
  }
}

extension DecodeFailure { init(_ start: FailedDecoderStart) { self.init(.unavailable, start.reason) } }
