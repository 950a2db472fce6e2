// All pictures go over one connection. There are always enough requests under way to keep the daemon busy, and
// never so many that its limit for one client is reached. Answers come in any order; the number of an order is
// the `id` of its request. When a record has to wait for an earlier one, no more is asked for than can wait.

import Glibc
import ImgdConnection
import ImgdSystem
import ImgdWire

/// A run of any number of fetches, from the first request to the last record.
final class FetchRun {
  /// The extra time after a fetch's deadline in which the daemon can report the timeout.
  static let grace = Duration.seconds(5)

  private let plan: FetchPlan
  private let context: Context
  private let loop: EventLoop
  private let source: URLSource
  private let progress: ProgressDisplay
  private var output: RunOutput?
  private var link: RunConnection?
  private var silence: Timer?
  private var names = PictureNames()
  private var open: [Int: FetchOrder] = [:]
  private var openFiles = 0
  /// How many files of directories are no pictures.
  private var passedOver = 0
  private var asked = 0
  /// How many failed before the daemon was asked for them.
  private(set) var unasked = 0
  private var hasAll = false
  private var outcome = ExitCode.done
  private var failure: Failure?

  init(_ plan: FetchPlan, _ arguments: Arguments, in context: Context) throws(Failure) {
    self.plan = plan
    self.context = context
    do throws(SystemFailure) {
      loop = try EventLoop()
      source = try URLSource(arguments, console: context.console, on: loop)
    } catch { throw Failure(error) }
    if case .file(let path) = plan.delivery.destination, let count = source.count, count > 1 {
      throw Destination.takesOne(path, "\(count)")
    }
    progress = ProgressDisplay(Self.place(plan, context), context.console, on: loop, total: source.count)
  }

  deinit { silence?.cancel() }

  func finish() throws(Failure) -> ExitCode {
    let run = Unowned(self)
    link = try RunConnection(context, on: loop, of: self)
    let output = RunOutput(context, progress, isOrdered: plan.isOrdered, on: loop) { run.object.breakOff(Failure($0)) }
    self.output = output
    do throws(SystemFailure) { output.interrupts = try Interrupts(on: loop) { run.object.react(to: $0) } } catch {
      throw Failure(error)
    }
    askForMore()
    if failure == nil, !isFinished { loop.run() }
    link?.close()
    tellOfPassedOver()
    output.close()
    if let failure { throw failure }
    return outcome
  }

  private static func place(_ plan: FetchPlan, _ context: Context) -> ProgressDisplay.Place {
    // The lines that --verbose shows would tear the block apart.
    if context.manner.isQuiet || context.manner.isVerbose { return .nowhere }
    if context.console.terminals.messages { return .terminal }
    return plan.showsProgress && !plan.delivery.style.isJSON ? .lines : .nowhere
  }

  // MARK: Asking

  private var isFinished: Bool { hasAll && open.isEmpty }

  private var mayAsk: Bool {
    openFiles < FetchPlan.mostDescriptors && open.count < plan.mostOpen
      && open.count + (output?.waiting ?? 0) < plan.mostAhead
  }

  /// Asks for as many pictures as may be under way, and ends the loop once all are answered or the run has failed.
  private func askForMore() {
    while failure == nil, !hasAll, mayAsk, askForNext() {}
    if isFinished || failure != nil { loop.stop() }
  }

  /// Asks for the next picture; false if it is not known yet.
  private func askForNext() -> Bool {
    do throws(SystemFailure) {
      switch try source.next(onArrival: { [run = Unowned(self)] in run.object.askForMore() }) {
      case .url(let url, let name): ask(url, name)
      case .file(let path, let name, let isInDirectory):
        ask(path, name, plan.command != .fetch ? .url : isInDirectory ? .fileInDirectory : .file)
      case .refused(let sentence):
        unasked += 1
        complain(sentence, .badURL)
      case .waiting: return false
      case .end:
        hasAll = true
        progress.expect(asked)
      }
      return true
    } catch {
      breakOff(Failure(error))
      return false
    }
  }

  private func ask(_ subject: String, _ given: String?, _ kind: FetchOrder.Kind = .url) {
    if case .file(let path) = plan.delivery.destination, asked > 0 { return breakOff(Destination.takesOne(path, nil)) }
    if let given, let problem = plan.delivery.problem(ofName: given) {
      unasked += 1
      return complain("\(subject): \(problem)", .failed)
    }
    var name = FileName.made("")
    if case .directory = plan.delivery.destination {
      name = given.map { .given($0) } ?? .made(names.name(for: subject, isFile: kind != .url))
    }
    var order = FetchOrder(number: asked, subject: subject, name: name, kind: kind)
    asked += 1
    progress.ask(order)
    if let problem = kind != .url ? openFile(of: &order) : plan.delivery.problemOfURL {
      unasked += 1
      return settle(order, plan.delivery.failure(order, nil, code: "not_readable", problem, .failed))
    }
    open[order.number] = order
    if let outcome = plan.delivery.outcomeBefore(order) { return settle(order, outcome) }
    send(order)
  }

  /// Opens the file that an order is about; returns why that is impossible.
  private func openFile(of order: inout FetchOrder) -> String? {
    if NewDirectories.isDirectory(order.subject) { return "there are no files in this directory" }
    do throws(SystemFailure) {
      let file = try LocalFile.open(order.subject, context.console)
      order.file = file
      openFiles += 1
      if case .thumbnails(let directory) = plan.delivery.destination {
        order.thumbnail = try DesktopThumbnail(of: file, at: order.subject, in: directory)
      }
      return nil
    } catch { return error.description }
  }

  private func tellOfPassedOver() {
    guard passedOver > 0 else { return }
    if passedOver == asked { return complain("no file is a picture, of \(asked)", .noPicture) }
    output?.remark(passedOver == 1 ? "1 file is no picture" : "\(passedOver) files are no pictures")
  }

  private func send(_ order: FetchOrder) {
    guard let request = plan.request(order, withEvents: progress.place != .nowhere || plan.showsProgress) else {
      unasked += 1
      let code = ReplyCode.badRequest.rawValue
      return settle(order, plan.delivery.failure(order, nil, code: code, "this is no receipt", .failed))
    }
    let line = request.line(id: .integer(Int64(order.number)))
    let limit = WireLimits.standard.line
    guard line.count <= limit else {
      unasked += 1
      let message = "its request would be longer than \(limit) bytes"
      return settle(order, plan.delivery.failure(order, nil, code: "line_too_long", message, .badURL))
    }
    link?.send(line, with: order.file)
    watchForSilence()
  }

  func tellOfPause() { output?.remark("imgd at \(context.socket) is gone; waiting for it to start again") }

  func askAgain() { for number in open.keys.sorted() { if let order = open[number] { send(order) } } }

  // MARK: Answers

  func receive(_ answer: Answer) {
    watchForSilence()
    guard let id = answer.reply.id, let order = open[id] else {
      // An error without an id is about the connection: the daemon has read no request yet.
      if answer.reply.id == nil, answer.reply.succeeded == false { breakOff(Failure(refusal: answer.reply)) }
      return
    }
    guard answer.reply.succeeded != nil else {
      progress.show(answer.reply, of: order.number)
      if plan.showsProgress { output?.insert(plan.delivery.style.event(order, answer)) }
      return
    }
    link?.expectRestarts()
    plan.onAnswer(answer.reply)
    let hasPicture = answer.reply.succeeded == true && !answer.reply.isNotModified && plan.delivery.form.hasDescriptor
    let picture = hasPicture ? link?.takePicture() : nil
    if order.kind == .fileInDirectory, ReplyCode(rawValue: answer.reply.errorCode ?? "") == .notAnImage {
      passedOver += 1
      settle(order, FetchOutcome())
    } else {
      settle(order, deliver(order, answer, picture))
    }
    askForMore()
  }

  private func deliver(_ order: FetchOrder, _ answer: Answer, _ picture: SharedDescriptor?) -> FetchOutcome {
    guard plan.delivery.mayBlock(order, answer.reply) else { return plan.delivery.outcome(order, answer, picture) }
    // A pipe takes as long as its reader.
    var outcome = FetchOutcome()
    progress.erase()
    output?.whileSignalsEnd { outcome = plan.delivery.outcome(order, answer, picture) }
    return outcome
  }

  private func settle(_ order: FetchOrder, _ outcome: FetchOutcome) {
    open[order.number] = nil
    if order.file != nil { openFiles -= 1 }
    progress.settle(order.number, isFailed: outcome.exitCode != .done, pause: outcome.pause)
    if let remark = outcome.remark { output?.remark(remark) }
    if let complaint = outcome.complaint { complain(complaint, outcome.exitCode) }
    output?.put(outcome.record, of: order.number)
  }

  private func complain(_ sentence: String, _ exitCode: ExitCode) {
    outcome = outcome.joined(exitCode)
    output?.complain(sentence)
  }

  // MARK: Ends

  private func react(to signal: CInt) {
    switch signal {
    case SIGWINCH: return progress.redraw()
    case SIGCONT: return progress.forget()
    default: break
    }
    outcome = signal == SIGINT ? .interrupted : .terminated
    hasAll = true
    open = [:]
    loop.stop()
  }

  private func breakOff(_ failure: Failure) {
    self.failure = self.failure ?? failure
    loop.stop()
  }

  func lose(_ failure: Failure) {
    let left = open.count + (source.count.map { $0 - asked } ?? 0)
    let urls = left == 1 ? "1 URL is" : "\(left) URLs are"
    let more = hasAll || source.count != nil ? "" : ", besides those that were not read yet"
    breakOff(Failure(failure.exitCode, "\(failure.sentence); \(urls) left\(more)"))
  }

  /// A daemon that says nothing when all deadlines have passed will not answer any more.
  private func watchForSilence() {
    guard let timeout = plan.timeout else { return }
    silence?.cancel()
    silence = loop.schedule(after: timeout + Self.grace) { [run = Unowned(self)] in run.object.breakOffIfSilent() }
  }

  private func breakOffIfSilent() {
    if !open.isEmpty { breakOff(Failure(ConnectionProblem.silent(path: context.socket))) }
  }
}

/// The signals that end a run, resize its terminal or give it back, as events of a loop while this object exists.
final class Interrupts {
  private let watch: SignalWatch
  private var before = sigset_t()

  /// Leaves ignored signals ignored, such as SIGHUP under nohup.
  init(on loop: EventLoop, _ handler: @escaping (CInt) -> Void) throws(SystemFailure) {
    let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT].filter { !Self.isIgnored($0) }
    // Fills a set that lives in this object.
    unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
    SignalWatch.block(signals)
    watch = try SignalWatch(signals, on: loop, handler)
  }

  deinit { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

  /// Does what may block, such as writing into a pipe that nobody reads; meanwhile signals end the process at once.
  func whileAllowed<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    var blocked = sigset_t()
    // Reads and fills sets that live here and in this object.
    unsafe pthread_sigmask(SIG_SETMASK, &before, &blocked)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &blocked, nil) }
    try body()
  }

  private static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    // Fills an action that lives on this stack; its handler is compared and not called.
    guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
    return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
