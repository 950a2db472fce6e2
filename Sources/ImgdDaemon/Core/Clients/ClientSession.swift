// One client: its lines in, its answers out.
//
// Input is read in pieces of a shared scratch buffer, cut into lines and executed; answers collect
// in the outbox and leave once at the end of the tick. A client that does not take its answers is
// not read from any more once its outbox is full, so what it can pin in memory is bounded; one that
// takes nothing at all for half a minute is closed.
//
// A client that shuts its writing side says "no more requests": what it asked for goes on and is
// answered, then the session closes. While it waits like that it is sent a space four times a
// second: white space before a line of JSON means nothing, and keeps alive those readers that give
// up when the line is silent for half a second.

import ImgdSystem
import ImgdWire

final class ClientSession {
  // Actions deferred to the end of a tick or to the next one hold the session until then. A weak
  // reference would give the session a side table, and make every reference count slow from then on.

  /// Reads from a client that takes no answers any more: a megabyte, more than its socket holds.
  private static let lastReads = 16

  let peer: PeerCredentials
  let number: UInt64
  var limits: WireLimits {
    didSet { framer.longestLine = limits.line }
  }
  private let socket: StreamSocket
  private let loop: EventLoop
  unowned let clients: Clients
  private let handle: (ParsedLine, ClientSession) -> Void
  private var watch: Watch?
  private var framer: LineFramer
  private var outbox = Outbox()

  private(set) var isOpen = true
  private var inputHasEnded = false
  /// The daemon stops: the requests that have arrived are the last ones.
  private var isFinishing = false
  private var isPaused = false
  private var takesNothing = false
  private var willFlush = false
  private var stall: Timer?
  private var taken = 0
  private var heartbeat: Timer?

  let fetches = ClientFetches()
  private var standing = StandingCommands()
  private(set) var subscriber: Subscriber?
  private var postponed = Fifo<() -> Void>()
  private var pendingProgress: [ReceiptID: FetchJob] = [:]

  init(
    _ socket: consuming StreamSocket, number: UInt64, of clients: Clients,
    handle: @escaping (ParsedLine, ClientSession) -> Void, loop: EventLoop, limits: WireLimits
  ) throws(SystemFailure) {
    peer = try PeerCredentials(of: socket)
    self.socket = socket
    self.number = number
    self.clients = clients
    self.handle = handle
    self.loop = loop
    self.limits = limits
    framer = LineFramer(longestLine: limits.line)
    watch = try loop.watch(self.socket.descriptor.number, for: .read) { [unowned self] in
      ready($0)
    }
  }

  // MARK: In

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.write) { flush() }
    guard isOpen, !takesNothing else { return }
    if readiness.contains(.read), !inputHasEnded, !isPaused {
      receive(isGone: readiness.contains(.hangup))
    } else if readiness.contains(.hangup) {
      hearOut()
    }
  }

  private func receive(isGone: Bool) {
    switch socket.read(into: clients.scratch) {
    case .bytes(let count):
      clients.scratch.withBytes(count) { bytes in framer.feed(bytes) { take($0) } }
    case .nothing: break
    case .end where isGone: endInput(thenClose: true)
    case .end: endInput(thenClose: false)
    case .broken: close()
    }
  }

  /// Executes one line; asks for no more when the outbox is full.
  private func take(
    _ finding: borrowing LineFramer.Finding, isLast: Bool = false
  ) -> LineFramer.Flow {
    guard isOpen else { return .pause }
    switch finding {
    case .line(let line): execute(RequestParser.parse(line), isLast: isLast)
    case .tooLong: refuse(id: .none, receipt: nil, .lineTooLong(limit: limits.line))
    }
    guard isFull, !takesNothing else { return .next }
    pause()
    return .pause
  }

  /// `isLast` tells of a line that the stream ended before its newline: where it is the daemon that
  /// has ended the stream, that may be the first half of a request.
  private func execute(_ line: ParsedLine, isLast: Bool) {
    if isLast, isFinishing, case .refused = line.outcome {
      return refuse(id: .none, receipt: nil, .shuttingDown)
    }
    handle(line, self)
  }

  /// A last line without its newline is executed: `printf '{"cmd":"stats"}' | socat …` is right.
  private func endInput(thenClose: Bool) {
    inputHasEnded = true
    _ = framer.finish { take($0, isLast: true) }
    guard isOpen else { return }
    if thenClose { return close() }
    updateInterest()
    beat()
    workEnded()
  }

  /// The client takes no answers any more. Its last requests are executed all the same: a script may
  /// send its `purge` lines and leave. That waits for the next tick, because the line
  /// of another client may be under execution.
  private func hearOut() {
    guard !takesNothing else { return }
    takesNothing = true
    loop.nextTick { [self] in executeLastWords() }
  }

  private func executeLastWords() {
    guard isOpen else { return }
    isPaused = false
    if !inputHasEnded {
      framer.resume { take($0) }
      readRest()
    }
    _ = framer.finish { take($0, isLast: true) }
    close()
  }

  /// Reads no more than a socket holds: a client may shut its reading side and go on talking for
  /// ever.
  private func readRest() {
    for _ in 0..<Self.lastReads {
      guard isOpen, case .bytes(let count) = socket.read(into: clients.scratch) else { return }
      clients.scratch.withBytes(count) { bytes in framer.feed(bytes) { take($0) } }
    }
  }

  // MARK: Out

  /// Appends to the bytes that are sent at the end of the tick.
  func write(_ body: (inout JSONWriter) -> Void) {
    guard isOpen, !takesNothing else { return }
    // The outbox's buffer is lent to the writer, and not copied.
    var writer = JSONWriter()
    swap(&writer.bytes, &outbox.bytes)
    body(&writer)
    swap(&writer.bytes, &outbox.bytes)
    flushAtTickEnd()
  }

  /// Appends a line that is all prepared.
  func write(_ line: FetchLine) {
    guard isOpen, !takesNothing else { return }
    line.append(to: &outbox.bytes)
    flushAtTickEnd()
  }

  /// Lets a descriptor ride on the line that is written next.
  func attach(_ descriptor: consuming FileDescriptor) {
    guard isOpen, !takesNothing else { return }
    outbox.attach(descriptor)
  }

  private func flushAtTickEnd() {
    guard !willFlush else { return }
    willFlush = true
    loop.atTickEnd { [self] in flush() }
  }

  /// Sends as much as the client takes, and continues the work that waited for that.
  func flush() {
    willFlush = false
    guard isOpen, !takesNothing else { return }
    let before = outbox.unsent
    let progress = outbox.send(to: socket)
    taken &+= before - outbox.unsent
    switch progress {
    case .emptied: emptied()
    case .blocked: blocked()
    case .broken: hearOut()
    }
  }

  private func emptied() {
    stall?.cancel()
    stall = nil
    writePending()
    if !postponed.isEmpty { loop.nextTick { [self] in deliverPostponed() } }
    if isPaused { resume() }
    updateInterest()
    closeWhenDone()
  }

  private func blocked() {
    // Not `pause`: to flush again before the client has taken anything would turn for ever.
    if isFull { isPaused = true }
    updateInterest()
    guard stall == nil else { return }
    watchForStall()
  }

  /// Whether the client is so far behind that it gets no more pictures and is not read from.
  var isFull: Bool {
    outbox.unsent > limits.unsentOutput || outbox.descriptors >= limits.unsentDescriptors
  }

  /// Keeps an answer that carries a picture until the client has taken the answers before it: the
  /// ten thousand waiters of one transfer may be one client that reads nothing.
  func postpone(_ answer: @escaping () -> Void) {
    postponed.append(answer)
  }

  private func deliverPostponed() {
    while isOpen, !isFull, let answer = postponed.popFirst() { answer() }
  }

  private func pause() {
    isPaused = true
    flushAtTickEnd()
  }

  /// Goes on with the lines that had arrived before the client's outbox was full.
  private func resume() {
    isPaused = false
    loop.nextTick { [self] in goOn() }
  }

  private func goOn() {
    guard isOpen, !isPaused else { return }
    if inputHasEnded {
      _ = framer.finish { take($0, isLast: true) }
    } else {
      framer.resume { take($0) }
    }
    workEnded()
  }

  private func updateInterest() {
    var interest: Interest = []
    if !inputHasEnded, !isPaused { interest.insert(.read) }
    if outbox.unsent > 0 { interest.insert(.write) }
    watch?.interest = interest
  }

  private func watchForStall() {
    let before = taken
    stall = loop.schedule(after: Duration.seconds(limits.stallSeconds)) { [unowned self] in
      stall = nil
      guard taken == before else { return watchForStall() }
      clients.closedSlowClient(self)
      close()
    }
  }

  // MARK: Progress

  /// Tells a job's progress; while the client is behind, only the last of several is told.
  func tellProgress(of job: FetchJob) {
    guard stall == nil else { return pendingProgress[job.receipt] = job }
    writeProgress(of: job)
  }

  private func writeProgress(of job: FetchJob) {
    guard let download = job.download else { return }
    writeProgress(of: job, received: download.received, expected: download.expected)
  }

  /// Tells how far a fetch is; told again only when that has changed.
  func writeProgress(of job: FetchJob, received: Int, expected: Int?) {
    guard job.lastProgress != received else { return }
    job.lastProgress = received
    write { line in
      ReplyEncoder.begin(id: job.id, event: "progress", receipt: job.receipt, into: &line)
      line.field("received", received)
      line.field("expected", expected)
      ReplyEncoder.end(into: &line)
    }
  }

  func subscribe(as subscriber: Subscriber) {
    self.subscriber = subscriber
  }

  private func writePending() {
    for job in pendingProgress.values { writeProgress(of: job) }
    pendingProgress.removeAll()
    subscriber?.catchUp()
  }

  // MARK: Commands that wait

  /// Lets a command wait for its answer: a connection is not idle meanwhile.
  func standBy(id: RequestID, receipt: ReceiptID? = nil) -> StandingCommands.Ticket {
    standing.add(StandingCommands.Command(id: id, receipt: receipt))
  }

  /// Ends the waiting of a command with its answer, unless the connection has ended, or the command
  /// was refused meanwhile.
  func resume(_ ticket: StandingCommands.Ticket, _ answer: () -> Void) {
    guard isOpen, standing.take(ticket) else { return }
    answer()
    workEnded()
  }

  /// Whether one more command may stand by.
  var hasRoomToStandBy: Bool { standing.count < limits.receipts }

  /// Ends the waiting of all commands.
  func refuseStanding(_ error: WireError) {
    for command in standing.takeAll() {
      refuse(id: command.id, receipt: command.receipt, error)
    }
    workEnded()
  }

  // MARK: The end

  /// Whether a line will still be written without a further request.
  private var hasWork: Bool {
    fetches.isWaiting || !standing.isEmpty || !postponed.isEmpty
      || (subscriber != nil && !isFinishing)
  }

  /// Takes no more requests from the kernel; those that have arrived are answered, and then the
  /// connection ends.
  func finish() {
    guard isOpen, !isFinishing else { return }
    isFinishing = true
    if inputHasEnded { workEnded() } else { socket.endReceiving() }
  }

  /// The same at once: answers that the client has not taken by then are lost.
  func finishNow() {
    finish()
    flush()
    if isOpen, !takesNothing { executeLastWords() }
    close()
  }

  /// A fetch or a command that the client waited for has ended.
  func workEnded() {
    if inputHasEnded, !hasWork { flushAtTickEnd() }
  }

  private func closeWhenDone() {
    if inputHasEnded, !hasWork, !isPaused, !framer.isPaused, outbox.unsent == 0 { close() }
  }

  private func beat() {
    heartbeat = loop.schedule(after: Duration.milliseconds(limits.spaceIntervalMilliseconds)) {
      [unowned self] in
      if hasWork, outbox.unsent == 0 { write { $0.bytes.append(UInt8(ascii: " ")) } }
      beat()
    }
  }

  /// Ends the connection; its fetches are cancelled unless they are detached.
  func close() {
    guard isOpen else { return }
    if !takesNothing { _ = outbox.send(to: socket) }
    isOpen = false
    watch?.cancel()
    stall?.cancel()
    heartbeat?.cancel()
    clients.closed(self)
  }
}
