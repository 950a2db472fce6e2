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

final class ClientSession: TurnTaker, ReplyCarrier {
  /// The bytes of a connection with its objects, without what is in its buffers.
  static let ownBytes = 2_048

  // A session that waits for the end of a tick, or for a turn, is held by those who will call it.

  /// Where its answers collect; this is all that others see of the client.
  let place: ReplyPlace
  var peer: PeerCredentials { place.peer }
  var number: UInt64 { place.number }

  var limits: WireLimits {
    get { place.limits }
    set {
      place.limits = newValue
      input.limitLines(to: newValue.line)
    }
  }
  private let socket: StreamSocket
  private let loop: EventLoop
  unowned let clients: Clients
  private let input: ClientInput
  private var watch: Watch?

  private(set) var isOpen = true
  /// The client takes no answers any more; its last requests are executed all the same.
  private var isDeaf: Bool { !place.takesLines }
  private var stall: Timer?
  private var taken = 0
  /// The bytes in its buffers that `clients` has been told of.
  private var countedBytes = 0
  let since: Instant
  private var heartbeat: Timer?

  init(
    _ socket: consuming StreamSocket, as peer: PeerCredentials, number: UInt64, of clients: Clients, loop: EventLoop,
    limits: WireLimits
  ) throws(SystemFailure) {
    self.socket = socket
    self.clients = clients
    self.loop = loop
    since = loop.now
    place = ReplyPlace(of: peer, number: number, limits: limits, at: clients.desk)
    input = ClientInput(answeredAt: place, longestLine: limits.line, reading: clients)
    input.attach(to: self)
    watch = try loop.watch(self.socket.descriptor.number, for: .read) { [unowned self] in ready($0) }
    place.open(self)
  }

  /// Nobody else closes a session that is still open at the end of the process.
  deinit { if isOpen { place.close() } }

  // MARK: In

  private func ready(_ readiness: Readiness) {
    // A client that is left out now is ready again in the next tick.
    if readiness.contains(.write), clients.turns.hasTimeForFirst { place.flush() }
    guard isOpen, !isDeaf else { return }
    if readiness.contains(.read), input.wantsBytes {
      input.receive(read(into: input.scratch), isGone: readiness.contains(.hangup))
    } else if readiness.contains(.hangup) {
      becomeDeaf()
    }
  }

  func read(into scratch: ReadScratch) -> StreamSocket.Arrival { socket.receive(into: scratch) }

  /// The kernel would report again and again that a client is gone: it is not asked any more.
  func becomeDeaf() {
    guard isOpen, !isDeaf else { return }
    place.becomeDeaf()
    watch?.cancel()
    input.windUp()
  }

  /// The client has sent its last request.
  func inputHasEnded() {
    guard isOpen else { return }
    beat()
    workEnded()
  }

  /// Updates whether the client is read from, now that its input has moved on.
  func inputHasMoved() {
    guard isOpen, !isDeaf else { return }
    countBuffers()
    updateInterest()
    workEnded()
  }

  func takeTurn() -> Bool { input.takeTurn() }

  func forgetShapes() { input.forgetShapes() }

  func lineReleased() { input.lineReleased() }

  // MARK: Out

  /// Sends a few bytes at once, and nothing after them.
  func sayLast(_ bytes: [UInt8]) {
    place.countError()
    place.write { $0.bytes.append(contentsOf: bytes) }
    // An empty socket takes them all; if it does not, nobody is reading.
    _ = place.outbox.send(to: socket)
    socket.endSending()
  }

  func sendEarly() {
    // The result shows again at the end of the tick.
    _ = send()
  }

  private func send() -> Outbox.Progress {
    let before = place.outbox.unsent
    let progress = place.outbox.send(to: socket)
    taken &+= before - place.outbox.unsent
    return progress
  }

  func flush() {
    guard isOpen, !isDeaf else { return }
    switch send() {
    case .emptied: emptied()
    case .blocked: blocked()
    case .broken: becomeDeaf()
    }
  }

  private func emptied() {
    stall?.cancel()
    stall = nil
    place.isBehind = false
    place.writePending()
    if countedBytes > 0 { countBuffers() }
    if place.hasPostponed { loop.nextTick { [place] in place.deliverPostponed() } }
    // Usually the client has only ever been waited for, and nothing has changed.
    if watch?.interest.rawValue != Interest.read.rawValue || input.isBusy { input.lineUp() }
    closeWhenDone()
  }

  private func blocked() {
    countBuffers()
    updateInterest()
    guard stall == nil else { return }
    place.isBehind = true
    watchForStall()
  }

  var use: ClientUse { ClientUse(requests: place.requests, bytesSent: taken) }

  /// Tells how many bytes wait in its buffers: with thousands of clients nobody adds them all up.
  func countBuffers() {
    let bytes = place.outbox.unsent + input.heldBytes
    guard bytes != countedBytes else { return }
    clients.countBuffered(bytes - countedBytes)
    countedBytes = bytes
  }

  private func updateInterest() {
    // With raw values: the empty set and `insert` of an option set look types up at run time.
    let read = input.wantsBytes ? Interest.read.rawValue : 0
    let write = place.outbox.unsent > 0 ? Interest.write.rawValue : 0
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

  // MARK: The end

  /// Whether a line will still be written without a further request.
  private var hasWork: Bool { place.awaitsLines || place.work.hasRest || (place.hearsEvents && !input.isFinishing) }

  /// Takes no more requests from the kernel; those that have arrived are answered, and then the
  /// connection ends.
  func finish() {
    guard isOpen, !input.isFinishing else { return }
    input.finish()
    if input.hasEnded { workEnded() } else { socket.endReceiving() }
  }

  /// Ends the connection at once: answers that the client has not taken by then are lost.
  func finishNow() {
    finish()
    place.flush()
    if isOpen { input.windUpNow() }
    close()
  }

  /// Lets the connection end if nothing is left to do: a fetch or a command that the client waited for has ended.
  func workEnded() { if input.isDone, !hasWork { place.flushAtTickEnd() } }

  private func closeWhenDone() { if input.isDone, !hasWork, place.outbox.unsent == 0 { close() } }

  private func beat() {
    heartbeat = loop.schedule(after: Duration.milliseconds(limits.spaceIntervalMilliseconds)) { [unowned self] in
      if hasWork, place.outbox.unsent == 0 { place.write { $0.bytes.append(UInt8(ascii: " ")) } }
      beat()
    }
  }

  /// Ends the connection; its fetches are cancelled unless they are detached.
  func close() {
    guard isOpen else { return }
    if !isDeaf { _ = place.outbox.send(to: socket) }
    isOpen = false
    countBuffers()
    clients.countBuffered(-countedBytes)
    watch?.cancel()
    stall?.cancel()
    heartbeat?.cancel()
    input.stop()
    place.close()
    clients.closed(self, freeing: countedBytes)
  }
}
