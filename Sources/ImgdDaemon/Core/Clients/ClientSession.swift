// One client: its requests in, its answers out.
//
// Answers collect in the outbox and leave once at the end of the tick. A client that does not take its
// answers is not read from any more once its outbox is full, so what it can pin in memory is bounded;
// one that takes nothing at all for half a minute is closed.
//
// A client that shuts its writing side says "no more requests": what it asked for goes on and is
// answered, then the session closes. While it waits like that it is sent a space four times a
// second: white space before a line of JSON means nothing, and keeps alive those readers that give
// up when the line is silent for half a second.

import ImgdSystem
import ImgdWire

final class ClientSession: TurnTaker {
  // A session that waits for the end of a tick, or for a turn, is held by those who will call it.

  let peer: PeerCredentials
  let number: UInt64
  /// So much of pictures inside lines is sent before the tick ends; its room is kept for the next.
  private static let muchToSend = 32 * 1024

  var limits: WireLimits {
    didSet { input.longestLine = limits.line }
  }
  private let socket: StreamSocket
  private let loop: EventLoop
  unowned let clients: Clients
  private lazy var input = ClientInput(
    of: self, longestLine: limits.line, reading: clients)
  /// For those who work for the client, and may do so for longer than it is there.
  private(set) lazy var reference = ClientReference(self)
  private var watch: Watch?
  private var outbox = Outbox()

  private(set) var isOpen = true
  /// The client takes no answers any more; its last requests are executed all the same.
  private(set) var isDeaf = false
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
    _ socket: consuming StreamSocket, as peer: PeerCredentials, number: UInt64, of clients: Clients,
    loop: EventLoop, limits: WireLimits
  ) throws(SystemFailure) {
    self.peer = peer
    self.socket = socket
    self.number = number
    self.clients = clients
    self.loop = loop
    self.limits = limits
    watch = try loop.watch(self.socket.descriptor.number, for: .read) { [unowned self] in
      ready($0)
    }
  }

  // MARK: In

  private func ready(_ readiness: Readiness) {
    // A client that is left out is ready in the next tick again.
    if readiness.contains(.write), clients.turns.hasTimeForFirst { flush() }
    guard isOpen, !isDeaf else { return }
    if readiness.contains(.read), input.wantsBytes {
      input.receive(isGone: readiness.contains(.hangup))
    } else if readiness.contains(.hangup) {
      becomeDeaf()
    }
  }

  func read(into scratch: ReadScratch) -> StreamSocket.Arrival { socket.read(into: scratch) }

  /// The kernel tells of a client that is gone again and again: it is not asked any more.
  func becomeDeaf() {
    guard isOpen, !isDeaf else { return }
    isDeaf = true
    watch?.cancel()
    input.windUp()
  }

  /// The client has sent its last request.
  func inputHasEnded() {
    guard isOpen else { return }
    beat()
    workEnded()
  }

  /// The client may be read from again, or not any more.
  func inputHasMoved() {
    guard isOpen, !isDeaf else { return }
    updateInterest()
    workEnded()
  }

  func takeTurn() -> Bool { input.takeTurn() }

  /// Carries out a command in steps, in the client's turns.
  func walk(_ step: @escaping () -> Bool) { input.walk(step) }

  /// Lets the next request wait until `release`.
  func hold() { input.hold() }

  func release() { input.release() }

  // MARK: Out

  /// Appends to the bytes that are sent at the end of the tick.
  func write(_ body: (inout JSONWriter) -> Void) {
    guard isOpen, !isDeaf else { return }
    // The outbox's buffer is lent to the writer, and not copied.
    var writer = JSONWriter()
    swap(&writer.bytes, &outbox.bytes)
    body(&writer)
    swap(&writer.bytes, &outbox.bytes)
    flushAtTickEnd()
  }

  /// Appends a line that is all prepared.
  func write(_ line: borrowing FetchLine) {
    guard isOpen, !isDeaf else { return }
    line.append(to: &outbox.bytes)
    flushAtTickEnd()
  }

  /// Appends a fetch's line of which all but the numbers is encoded, the id as it came.
  func write(
    _ numbers: FetchLine.Numbers, id: Span<UInt8>, facts: Span<UInt8>, ending: Span<UInt8>
  ) {
    guard isOpen, !isDeaf else { return }
    FetchLine.append(to: &outbox.bytes, id: id, numbers, facts: facts, ending: ending)
    flushAtTickEnd()
  }

  /// Appends a line that is prepared up to a picture's bytes. When much is there, it is sent at once: the room
  /// is used again for the next picture, instead of growing by all that are asked for together.
  func write(_ line: borrowing FetchLine, carrying payload: Payload) {
    guard isOpen, !isDeaf else { return }
    line.append(to: &outbox.bytes)
    write { writer in
      payload.withBytes { writer.value(base64: $0) }
      writer.endObject()
      writer.newline()
    }
    guard outbox.unsent >= Self.muchToSend else { return }
    let before = outbox.unsent
    // What comes of it is seen again at the end of the tick.
    _ = outbox.send(to: socket)
    taken &+= before - outbox.unsent
  }

  /// Lets a descriptor ride on the line that is written next.
  func attach(_ descriptor: consuming FileDescriptor) {
    guard isOpen, !isDeaf else { return }
    outbox.attach(descriptor)
  }

  /// Sends a few bytes at once, and nothing any more.
  func sayLast(_ bytes: [UInt8]) {
    clients.countError()
    write { $0.bytes.append(contentsOf: bytes) }
    // An empty socket takes them all; where it does not, there is nobody who reads.
    _ = outbox.send(to: socket)
    socket.endSending()
  }

  private func flushAtTickEnd() {
    guard !willFlush else { return }
    willFlush = true
    clients.flushAtTickEnd(self)
  }

  /// Sends as much as the client takes, and continues the work that waited for that.
  func flush() {
    willFlush = false
    guard isOpen, !isDeaf else { return }
    let before = outbox.unsent
    let progress = outbox.send(to: socket)
    taken &+= before - outbox.unsent
    switch progress {
    case .emptied: emptied()
    case .blocked: blocked()
    case .broken: becomeDeaf()
    }
  }

  private func emptied() {
    stall?.cancel()
    stall = nil
    writePending()
    if !postponed.isEmpty { loop.nextTick { [self] in deliverPostponed() } }
    input.lineUp()
    closeWhenDone()
  }

  private func blocked() {
    updateInterest()
    guard stall == nil else { return }
    watchForStall()
  }

  /// The bytes in its buffers.
  var heldBytes: Int { outbox.bytes.capacity + input.heldBytes }

  /// Whether the client is so far behind that it gets no more pictures and is not read from.
  var isFull: Bool {
    outbox.isBeyond(bytes: limits.unsentOutput, descriptors: limits.unsentDescriptors)
  }

  /// Keeps an answer that carries a picture until the client has taken the answers before it: the
  /// ten thousand waiters of one transfer may be one client that reads nothing.
  func postpone(_ answer: @escaping () -> Void) {
    postponed.append(answer)
  }

  private func deliverPostponed() {
    while isOpen, !isFull, let answer = postponed.popFirst() { answer() }
  }

  private func updateInterest() {
    // Numbers: the empty set and `insert` of an option set look types up at run time.
    let read = input.wantsBytes ? Interest.read.rawValue : 0
    let write = outbox.unsent > 0 ? Interest.write.rawValue : 0
    watch?.interest = Interest(rawValue: read | write)
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
    if !pendingProgress.isEmpty {
      for job in pendingProgress.values { writeProgress(of: job) }
      pendingProgress.removeAll()
    }
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

  /// How many commands wait for their answers.
  var standingCount: Int { standing.count }

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
    fetches.isWaiting || !standing.isEmpty || !postponed.isEmpty || input.hasRest
      || (subscriber != nil && !input.isFinishing)
  }

  /// Takes no more requests from the kernel; those that have arrived are answered, and then the
  /// connection ends.
  func finish() {
    guard isOpen, !input.isFinishing else { return }
    input.finish()
    if input.hasEnded { workEnded() } else { socket.endReceiving() }
  }

  /// The same at once: answers that the client has not taken by then are lost.
  func finishNow() {
    finish()
    flush()
    if isOpen { input.windUpNow() }
    close()
  }

  /// A fetch or a command that the client waited for has ended.
  func workEnded() {
    if input.isDone, !hasWork { flushAtTickEnd() }
  }

  private func closeWhenDone() {
    if input.isDone, !hasWork, outbox.unsent == 0 { close() }
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
    if !isDeaf { _ = outbox.send(to: socket) }
    isOpen = false
    watch?.cancel()
    stall?.cancel()
    heartbeat?.cancel()
    input.stop()
    clients.closed(self)
    reference.end()
  }
}
