// A connection to the server, driven by the engine's loop: it matches replies to the commands that asked for them.
//
// Nothing that the other end sends is trusted: a reply that nobody has asked for, or that is none, ends the connection.

internal import ImgdSystem

/// Commands in the order in which they were sent, and their replies in the same order.
@safe final class RedisConnection: ServerConnection {
  /// The most that a server may make this process hold.
  struct Limits {
    var reply: Int
    /// Bytes of commands that wait to be written.
    var output = 1 << 20
    /// Commands that wait for their replies.
    var commands = 1 << 16
  }

  /// Others are not kept waiting for more than a mebibyte.
  private static let mostPerTick = 1 << 20
  /// Little enough to stay in the processor's cache until it has been copied.
  private static let readAtOnce = 64 * 1024
  /// Less than an attempt to use a server may take: then it is said what was waited for.
  private static let patienceForTLS: Duration = .milliseconds(1_500)

  private struct Question {
    let arriving: (() -> Void)?
    let then: (RedisReply) -> Void
  }

  private var stream: ServerStream?
  private unowned let loop: EventLoop
  var limits: Limits
  private var watch: Watch?
  private var outbox = CommandOutbox()
  private var reader = ReplyReader()
  // Lent to one read at a time.
  private let room: UnsafeMutableRawBufferPointer
  private var waiting = Fifo<Question>()
  private var hasConnected = false
  private let mayNeedTLS: Bool
  private var hasHeard = false
  /// Whether commands can be written: with TLS, after its handshake.
  private var isReady = false
  private var shaking: Timer?
  private var isFlushDue = false
  /// What writing and reading wait for: with TLS, each may have to wait for the other's turn.
  private var wantedByWrites: Interest = []
  private var wantedByReads: Interest = .read
  var onEnd: (FleetTrouble) -> Void = { _ in }
  var onMessage: ((RedisReply) -> Void)?

  /// Begins to connect; commands may be sent at once, and are written when the connection is there.
  init(to place: ServerPlace, on loop: EventLoop, limits: Limits) throws(FleetTrouble) {
    self.loop = loop
    self.limits = limits
    mayNeedTLS = if case .tcp = place { true } else { false }
    unsafe room = .allocate(byteCount: Self.readAtOnce, alignment: 16)
    let stream = try ServerStream(to: place)
    do throws(SystemFailure) {
      watch = try loop.watch(stream.number, for: [.read, .write]) { [unowned self] readiness in ready(readiness) }
    } catch { throw FleetTrouble(.down, error.description) }
    self.stream = stream
    guard case .tls = place else { return }
    shaking = loop.schedule(after: Self.patienceForTLS) { [unowned self] in
      breakOff(FleetTrouble(.down, "it does not begin with TLS: is the port in Fleet.Server= its tls-port?"))
    }
  }

  deinit {
    close()
    unsafe room.deallocate()
  }

  var isOpen: Bool { stream != nil }

  func hasRoom(for bytes: Int) -> Bool { outbox.unsent + bytes <= limits.output }

  // MARK: Commands

  /// Sends the command at the end of the tick, with all others of the tick.
  func send(_ command: RedisCommand, arriving: (() -> Void)?, then: @escaping (RedisReply) -> Void) {
    guard append(command) else { return loop.nextTick { then(.lost) } }
    waiting.append(Question(arriving: arriving, then: then))
  }

  func sendForMessages(_ command: RedisCommand) { _ = append(command) }

  private func append(_ command: RedisCommand) -> Bool {
    let front = command.front
    guard isOpen, hasRoom(for: front.count + (command.payload?.count ?? 0)), waiting.count < limits.commands
    else { return false }
    outbox.add(front, command.payload)
    flushAtTickEnd()
    return true
  }

  private func flushAtTickEnd() {
    guard isReady, !isFlushDue else { return }
    isFlushDue = true
    loop.atTickEnd { [weak self] in
      guard let self else { return }
      isFlushDue = false
      flush()
    }
  }

  private func flush() {
    guard let stream, isReady else { return }
    switch outbox.write(to: stream, most: Self.mostPerTick) {
    case .bytes, .end: wantedByWrites = outbox.unsent == 0 ? [] : .write
    case .blocked(let interest): wantedByWrites = interest
    case .failed(let trouble):
      // What the other side has said before its end may be the reason.
      read()
      return breakOff(trouble)
    }
    watch(for: [wantedByReads, wantedByWrites])
  }

  private func watch(for interest: Interest) {
    if let watch, watch.interest != interest { watch.interest = interest }
  }

  // MARK: Replies

  private func ready(_ readiness: Readiness) {
    guard isReady || connect() else { return }
    if !readiness.intersection(wantedByWrites).isEmpty { flush() }
    let isWanted = !readiness.intersection([wantedByReads, .read, .hangup]).isEmpty
    if isWanted || stream?.hasPending == true { read() }
  }

  /// Goes on with what comes before the first command; false if that is not over.
  private func connect() -> Bool {
    guard let stream else { return false }
    if !hasConnected {
      if let trouble = stream.trouble {
        breakOff(trouble)
        return false
      }
      hasConnected = true
    }
    switch stream.shake() {
    case .bytes:
      isReady = true
      shaking?.cancel()
      flush()
      return true
    case .blocked(let interest): watch(for: interest)
    case .end: breakOff(FleetTrouble(.down, "it has ended the connection before TLS began: see its log"))
    case .failed(let trouble): breakOff(trouble)
    }
    return false
  }

  private func read() {
    var left = Self.mostPerTick
    wantedByReads = .read
    while left > 0, let stream {
      switch unsafe stream.read(into: room) {
      case .bytes(let count):
        left -= count
        deliver(count)
        // The socket is empty, or tells of the rest itself.
        if count < Self.readAtOnce, !stream.hasPending { return }
      case .blocked(let interest):
        wantedByReads = interest
        return watch(for: [wantedByReads, wantedByWrites])
      case .end: return breakOff(unheard ?? FleetTrouble(.down, "Server closed the connection"))
      case .failed(let trouble): return breakOff(unheard ?? trouble)
      }
    }
    if stream?.hasPending == true { loop.nextTick { [weak self] in self?.read() } }
  }

  /// A port for TLS ends a connection that begins otherwise.
  private var unheard: FleetTrouble? {
    guard mayNeedTLS, !hasHeard else { return nil }
    return FleetTrouble(.down, "it ended the connection before it said anything: does it speak TLS there (rediss://)?")
  }

  /// Delivers the replies in the first bytes of the room.
  private func deliver(_ count: Int) {
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: room[..<count]).bindMemory(to: UInt8.self).span
    var start = 0
    do throws(ReplyReader.Problem) {
      while isOpen,
        let reply = try reader.next(
          in: bytes, from: &start, most: limits.reply, asValue: waiting.first?.arriving != nil)
      {
        hear(reply)
      }
    } catch { return breakOff(FleetTrouble(.down, error.text)) }
    if isOpen, reader.isWithinReply { waiting.first?.arriving?() }
  }

  private func hear(_ reply: RedisReply) {
    hasHeard = true
    if let question = waiting.popFirst() { return question.then(reply) }
    if let onMessage { return onMessage(reply) }
    // A server that takes no more connections says so and closes them.
    guard case .failure(let text) = reply else {
      return breakOff(FleetTrouble(.down, "an answer was sent that nothing had been asked for"))
    }
    breakOff(FleetTrouble(.down, text))
  }

  // MARK: The end

  func close() {
    watch?.cancel()
    watch = nil
    shaking?.cancel()
    guard let stream = stream.take() else { return }
    stream.close()
    outbox = CommandOutbox()
    while let question = waiting.popFirst() { question.then(.lost) }
  }

  private func breakOff(_ trouble: FleetTrouble) {
    guard isOpen else { return }
    let onEnd = self.onEnd
    close()
    onEnd(trouble)
  }
}

/// What the engine asks of a connection to the server: a `RedisConnection`, or in tests one that they answer.
protocol ServerConnection: AnyObject {
  var limits: RedisConnection.Limits { get set }
  var isOpen: Bool { get }
  /// Called once, with the reason, unless the end was asked for.
  var onEnd: (FleetTrouble) -> Void { get set }
  /// Receives replies that no command has asked for; without it, such a reply ends the connection.
  var onMessage: ((RedisReply) -> Void)? { get set }

  /// Whether a command of this many bytes can be sent without waiting behind too many others.
  func hasRoom(for bytes: Int) -> Bool
  /// Sends a command; `then` is called once, never before this has returned. With `arriving`, a long string is a value,
  /// and it is called whenever a part of the answer has come that is not the last one.
  func send(_ command: RedisCommand, arriving: (() -> Void)?, then: @escaping (RedisReply) -> Void)
  /// Sends a command whose answer arrives as messages.
  func sendForMessages(_ command: RedisCommand)
  /// Ends the connection without a call of `onEnd`; commands under way are lost.
  func close()
}

extension ServerConnection {
  func send(_ command: RedisCommand, then: @escaping (RedisReply) -> Void) {
    send(command, arriving: nil, then: then)
  }
}

typealias Connect = (ServerPlace, EventLoop, RedisConnection.Limits) throws(FleetTrouble) -> any ServerConnection
