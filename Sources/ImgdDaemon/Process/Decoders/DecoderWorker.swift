// One decoder from its start to its end: it greets, then each order is followed by one answer.
//
// A decoder may have been taken over by a picture. A message that is out of this sequence, or does not answer
// its order, ends it at once; so does an order that takes too long. The order then has its answer, and the
// process is of no further interest, except that its end is noted.

import Glibc
import ImgdDecode
import ImgdSystem

final class DecoderWorker {
  enum Phase {
    case starting, idle, working
    /// It has been told to end, or is about to.
    case ending
    case gone
  }

  /// What its owner is told, in this order; the last one is `gone`.
  enum Report {
    /// It takes orders from now on.
    case ready(DecoderAbilities)
    /// It will never take an order.
    case failedStart(FailedDecoderStart)
    /// The order has its answer. The worker takes another one if it is idle.
    case settled(DecodeAnswer, serial: UInt64)
    /// It ended without an answer, and not by its own fault. The failure is for an order that meets with this again.
    case returned(serial: UInt64, DecodeFailure)
    /// It came to a bad end, or was brought to one.
    case broke(reason: String)
    case gone
  }

  private struct Work {
    let serial: UInt64
    let rendition: Rendition
    /// The picture in words: the picture itself is not kept.
    let subject: String
  }

  /// How long a decoder may take from its start to its greeting.
  static let greetingLimit = Duration.seconds(5)
  /// How long it may take to end on its own.
  static let leaveLimit = Duration.seconds(1)

  private(set) var phase = Phase.starting
  private(set) var abilities: DecoderAbilities?
  private(set) var orders = 0
  /// The address space that it was started with.
  let memory: Int

  private let loop: EventLoop
  private let report: (DecoderWorker, Report) -> Void
  private var process: DecoderProcess?
  private var work: Work?
  /// An answer that is reported once it is clear that nothing came after it.
  private var answer: DecodeAnswer?
  /// Fires when the time for the present phase is over.
  private var alarm: Timer?

  init(memory: Int, on loop: EventLoop, report: @escaping (DecoderWorker, Report) -> Void) {
    self.memory = memory
    self.loop = loop
    self.report = report
    alarm = loop.schedule(after: Self.greetingLimit) { [unowned self] in
      fail(FailedDecoderStart("the decoder cannot start: it takes too long"))
    }
  }

  deinit { alarm?.cancel() }

  /// The number of the process; nil until it has started.
  var pid: Int32? { process?.pid }
  var isLive: Bool { phase == .starting || phase == .idle || phase == .working }

  func adopt(_ result: Result<StartedDecoder, FailedDecoderStart>) {
    do throws(FailedDecoderStart) {
      process = try watch(try result.get())
      if phase == .ending { process?.kill() }
    } catch {
      fail(error)
      disappear()
    }
  }

  private func watch(_ started: StartedDecoder) throws(FailedDecoderStart) -> DecoderProcess {
    do throws(SystemFailure) {
      return try DecoderProcess(
        started, on: loop, onArrival: { [unowned self] in receive($0) }, onEnd: { [unowned self] in leave(after: $0) })
    } catch { throw .system(error) }
  }

  private func fail(_ failure: FailedDecoderStart) {
    guard phase == .starting else { return }
    end()
    report(self, .failedStart(failure))
  }

  /// Gives the decoder an order, whose picture is in a memfd; returns false if the decoder is gone.
  func begin(_ order: DecodeOrder, within limit: Duration) -> Bool {
    precondition(phase == .idle, "a decoder has one order at a time")
    guard process?.send(order) == true else {
      end()
      return false
    }
    orders += 1
    phase = .working
    work = Work(
      serial: order.serial, rendition: order.rendition, subject: "\(order.picture.count) bytes of \(order.format)")
    setAlarm(after: limit) { [unowned self] in
      settle(by: DecodeFailure(.timedOut, "the decoder took longer than \(limit)", limit: limit))
    }
    return true
  }

  /// Keeps it without work for a while.
  func rest(for time: Duration) { setAlarm(after: time) { [unowned self] in leave() } }

  /// Lets the decoder end on its own, and ends it after a while. To be called only while it has nothing to do.
  func leave() {
    phase = .ending
    process?.hangUp()
    setAlarm(after: Self.leaveLimit) { [unowned self] in process?.kill() }
  }

  /// Ends the decoder at once, and reports nothing about its order.
  func end() {
    phase = .ending
    alarm?.cancel()
    work = nil
    answer = nil
    process?.kill()
  }

  private func disappear() {
    phase = .gone
    alarm?.cancel()
    report(self, .gone)
  }

  private func receive(_ arrival: DecodeChannel.Arrival) {
    switch arrival {
    case .abilities(let abilities):
      guard phase == .starting else { return settle(byBreach: "it greeted again") }
      alarm?.cancel()
      self.abilities = abilities
      phase = .idle
      report(self, .ready(abilities))
    case .answer(let answer, let serial):
      if let lie = lie(in: answer, serial) { return settle(byBreach: lie) }
      self.answer = answer
    case .broken: settle(byBreach: "it sent a message that makes no sense")
    case .nothing: tellAnswer()
    case .end: takeHangUp()
    }
  }

  /// Why this cannot be the answer to its order; nil when it can.
  private func lie(in answer: DecodeAnswer, _ serial: UInt64) -> String? {
    guard let work else { return "it answered without an order" }
    guard serial == work.serial else { return "it answered another order" }
    guard self.answer == nil else { return "it answered twice" }
    guard answer.isAnswer(to: work.rendition) else { return "it made something else" }
    guard case .picture(let made) = answer, made.content.count > memory else { return nil }
    return "it made more than it has memory for"
  }

  private func tellAnswer() {
    guard let answer = answer.take(), let work = work.take() else { return }
    alarm?.cancel()
    phase = .idle
    report(self, .settled(answer, serial: work.serial))
  }

  /// The end of the process follows in a moment and tells why; a decoder that goes on breaks the rules.
  private func takeHangUp() {
    process?.hangUp()
    tellAnswer()
    guard isLive else { return }
    setAlarm(after: Self.leaveLimit) { [unowned self] in settle(byBreach: "it hung up") }
  }

  private func leave(after end: SpawnedProgram.End) {
    switch phase {
    case .starting: fail(.ended(end))
    case .idle where end == .exited(0): break
    case .working where end == .exited(0): giveBack(DecodeFailure(.crashed, "the decoder ended without an answer"))
    case .working where end.isFromOutside:
      let reason = "the decoder \(end.words)"
      report(self, .broke(reason: work.map { "\(reason), over \($0.subject)" } ?? reason))
      giveBack(DecodeFailure(.killed, reason))
    case .idle, .working: settle(by: DecodeFailure(.crashed, "the decoder \(end.words)"))
    case .ending, .gone: break
    }
    disappear()
  }

  /// A decoder that ends after an answer may have been given the next order by then.
  private func giveBack(_ failure: DecodeFailure) {
    let returned = work
    end()
    if let returned { report(self, .returned(serial: returned.serial, failure)) }
  }

  private func settle(byBreach breach: String) {
    guard phase != .starting else { return fail(FailedDecoderStart("the decoder cannot be used: \(breach)")) }
    settle(by: DecodeFailure(.crashed, "the decoder broke the rules: \(breach)"))
  }

  /// Ends it because of what it did, or did not do.
  private func settle(by failure: DecodeFailure) {
    let ended = work
    end()
    report(self, .broke(reason: ended.map { "\(failure.reason), over \($0.subject)" } ?? failure.reason))
    guard let ended else { return }
    report(self, .settled(.failure(failure), serial: ended.serial))
  }

  private func setAlarm(after time: Duration, _ action: @escaping () -> Void) {
    alarm?.cancel()
    alarm = loop.schedule(after: time, action)
  }
}

/// A running decoder with its channel, on a loop.
///
/// Everything that it sent before its end is received before its end is reported.
final class DecoderProcess {
  private let program: SpawnedProgram
  private let onArrival: (DecodeChannel.Arrival) -> Void
  private let onEnd: (SpawnedProgram.End) -> Void
  /// Nil when nothing is to be sent or received any more.
  private var line: StartedDecoder.Line?
  private var channelWatch: Watch?
  private var endWatch: Watch?

  /// `onArrival` gets all that has arrived, and then `.nothing`, unless the channel was closed; `onEnd` comes once.
  init(
    _ started: StartedDecoder, on loop: EventLoop, onArrival: @escaping (DecodeChannel.Arrival) -> Void,
    onEnd: @escaping (SpawnedProgram.End) -> Void
  ) throws(SystemFailure) {
    program = started.program
    line = started.line
    self.onArrival = onArrival
    self.onEnd = onEnd
    let channel = started.line.channel.descriptor.number
    channelWatch = try loop.watch(channel, for: .read) { [unowned self] _ in receive() }
    endWatch = try loop.watch(program.descriptor, for: .read) { [unowned self] _ in reap() }
  }

  deinit {
    channelWatch?.cancel()
    endWatch?.cancel()
  }

  var pid: Int32 { program.pid }

  /// Sends an order; false when the decoder is gone.
  func send(_ order: DecodeOrder) -> Bool { line?.channel.send(order) ?? false }

  /// Closes the channel, which makes the decoder end.
  func hangUp() {
    channelWatch?.cancel()
    channelWatch = nil
    line = nil
  }

  func kill() {
    hangUp()
    program.kill()
  }

  private func receive() {
    while let line {
      let arrival = line.channel.receive()
      onArrival(arrival)
      switch arrival {
      case .nothing, .end, .broken: return
      case .abilities, .answer: break
      }
    }
  }

  private func reap() {
    receive()
    guard let end = program.reap() else { return }
    hangUp()
    endWatch?.cancel()
    endWatch = nil
    onEnd(end)
  }
}

extension SpawnedProgram.End {
  /// The signals by which a program ends because of what it does.
  private static let names = [
    SIGILL: "SIGILL", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGTRAP: "SIGTRAP", SIGSEGV: "SIGSEGV",
    SIGSYS: "SIGSYS",
    SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
  ]

  /// Whether the kernel, short of memory, or a person has ended it: no decoder ends by these signals on its own.
  var isFromOutside: Bool { [SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT].contains { self == .signalled($0) } }

  /// The end in words that follow "it".
  var words: String {
    switch self {
    case .exited(let code): "ended with exit code \(code)"
    case .signalled(SIGKILL): "was killed, perhaps for memory"
    case .signalled(let signal): "ended by \(Self.names[signal] ?? "signal \(signal)")"
    case .unknown: "ended"
    }
  }
}
