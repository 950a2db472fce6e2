// A connection to the server, driven by the engine's loop.
//
// hiredis connects, reads, writes and tells replies apart; matching them to their commands is done here. Its own
// asynchronous contexts are not used: they end the process at a reply that nobody has asked for, and the other
// end of a connection must not be trusted with that.

internal import CHiredis
import Glibc
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

  /// Reads of hiredis take 16 KiB each; others are not kept waiting for more than a mebibyte.
  private static let readsPerTick = 64
  private static let isPrepared: Bool = {
    redis_prepare_limit()
    return true
  }()

  // Valid until `close`, which lets go of it at once: nothing refers to it afterwards.
  private var context: UnsafeMutablePointer<redisContext>?
  private unowned let loop: EventLoop
  var limits: Limits
  private var watch: Watch?
  private var waiting = Fifo<(RedisReply) -> Void>()
  private var isConnected = false
  private var isFlushDue = false
  var onEnd: (String) -> Void = { _ in }
  var onMessage: ((RedisReply) -> Void)?

  /// Begins to connect; commands may be sent at once, and are written when the connection is there.
  init(to place: ServerPlace, on loop: EventLoop, limits: Limits) throws(FleetTrouble) {
    self.loop = loop
    self.limits = limits
    let context =
      switch place {
      case .unix(let path): unsafe redisConnectUnixNonBlock(path)
      case .tcp(let address, let port): unsafe redisConnectNonBlock(address, CInt(clamping: port))
      case .tls: throw FleetTrouble(.refused, "this imgd speaks no TLS with it: name it without rediss://")
      }
    guard let context = unsafe context else { throw FleetTrouble(.down, "out of memory") }
    unsafe self.context = unsafe context
    guard unsafe context.pointee.err == 0 else { throw refused(errorText) }
    guard Self.isPrepared, unsafe redis_limit_arrays(context) == 0 else { throw refused("out of memory") }
    let number = unsafe context.pointee.fd
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    if case .tcp = place { SocketOptions.endWithoutAnswers(number) }
    do throws(SystemFailure) {
      watch = try loop.watch(number, for: [.read, .write]) { [unowned self] readiness in ready(readiness) }
    } catch { throw refused(error.description) }
  }

  deinit { close() }

  var isOpen: Bool { unsafe context != nil }

  func hasRoom(for bytes: Int) -> Bool {
    guard let context = unsafe context else { return bytes <= limits.output }
    return unsafe redis_unsent(context) + bytes <= limits.output
  }

  // MARK: Commands

  /// Sends the command at the end of the tick, with all others of the tick.
  func send(_ command: RedisCommand, then: @escaping (RedisReply) -> Void) {
    guard append(command) else { return loop.nextTick { then(.lost) } }
    waiting.append(then)
  }

  func sendForMessages(_ command: RedisCommand) { _ = append(command) }

  private func append(_ command: RedisCommand) -> Bool {
    guard let context = unsafe context else { return false }
    let bytes = command.bytes
    guard hasRoom(for: bytes.count), waiting.count < limits.commands else { return false }
    let outcome = unsafe bytes.withUnsafeBytes { bytes in
      unsafe redisAppendFormattedCommand(context, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    if outcome == REDIS_OK { flushAtTickEnd() }
    return outcome == REDIS_OK
  }

  private func flushAtTickEnd() {
    guard isConnected, !isFlushDue else { return }
    isFlushDue = true
    loop.atTickEnd { [weak self] in
      guard let self else { return }
      isFlushDue = false
      flush()
    }
  }

  private func flush() {
    guard let context = unsafe context else { return }
    var isDone: CInt = 0
    guard unsafe redisBufferWrite(context, &isDone) == REDIS_OK else { return breakOff(errorText) }
    watch?.interest = isDone == 0 ? [.read, .write] : .read
  }

  // MARK: Replies

  private func ready(_ readiness: Readiness) {
    if !isConnected {
      let code = SocketOptions.error(of: unsafe context?.pointee.fd ?? -1)
      guard code == 0 else { return breakOff(unsafe String(cString: strerror(code))) }
      isConnected = true
    }
    if readiness.contains(.write) { flush() }
    if readiness.contains(.read) || readiness.contains(.hangup) { read() }
  }

  private func read() {
    for _ in 0..<Self.readsPerTick {
      guard let context = unsafe context else { return }
      let before = unsafe redis_unread(context)
      let isReadable = unsafe redisBufferRead(context) == REDIS_OK
      let got = unsafe redis_unread(context) - before
      // Replies that arrived before the end are delivered: they may say why it ended.
      deliver()
      guard isReadable else { return breakOff(errorText) }
      guard got > 0 else { return }
      guard pending <= limits.reply else { return breakOff("an answer of more than \(limits.reply) bytes was sent") }
    }
  }

  /// The bytes of the incomplete reply that have arrived.
  private var pending: Int {
    guard let context = unsafe context else { return 0 }
    return consumed + (unsafe redis_unread(context))
  }

  /// How many bytes of the incomplete reply hiredis has parsed.
  private var consumed = 0

  private func deliver() {
    while let context = unsafe context {
      var found: UnsafeMutableRawPointer?
      let before = unsafe redis_unread(context)
      guard unsafe redisGetReplyFromReader(context, &found) == REDIS_OK else { return breakOff(errorText) }
      guard let reply = unsafe found else {
        consumed += before - (unsafe redis_unread(context))
        return
      }
      consumed = 0
      let value = unsafe RedisReply(reply.assumingMemoryBound(to: redisReply.self))
      unsafe freeReplyObject(reply)
      hear(value)
    }
  }

  private func hear(_ reply: RedisReply) {
    if let then = waiting.popFirst() { return then(reply) }
    if let onMessage { return onMessage(reply) }
    // A server that takes no more connections says so and closes them.
    guard case .failure(let text) = reply else { return breakOff("an answer was sent that nothing had been asked for") }
    breakOff(text)
  }

  // MARK: The end

  func close() {
    watch?.cancel()
    watch = nil
    guard let context = unsafe context else { return }
    unsafe self.context = nil
    unsafe redisFree(context)
    while let then = waiting.popFirst() { then(.lost) }
  }

  private func breakOff(_ reason: String) {
    guard isOpen else { return }
    let onEnd = self.onEnd
    close()
    onEnd(reason)
  }

  private var errorText: String {
    guard let context = unsafe context else { return "the connection has ended" }
    return unsafe withUnsafePointer(to: &context.pointee.errstr) { text in
      unsafe text.withMemoryRebound(to: CChar.self, capacity: 128) {
        unsafe printable(String(cString: $0), longest: 128)
      }
    }
  }

  private func refused(_ reason: String) -> FleetTrouble {
    close()
    return FleetTrouble(.down, reason)
  }
}

/// What the engine asks of a connection to the server: a `RedisConnection`, or in tests one that they answer.
protocol ServerConnection: AnyObject {
  var limits: RedisConnection.Limits { get set }
  var isOpen: Bool { get }
  /// Called once, with the reason, unless the end was asked for.
  var onEnd: (String) -> Void { get set }
  /// Receives replies that no command has asked for; without it, such a reply ends the connection.
  var onMessage: ((RedisReply) -> Void)? { get set }

  /// Whether a command of this many bytes can be sent without waiting behind too many others.
  func hasRoom(for bytes: Int) -> Bool
  /// Sends a command; `then` is called once, never before this has returned.
  func send(_ command: RedisCommand, then: @escaping (RedisReply) -> Void)
  /// Sends a command whose answer arrives as messages.
  func sendForMessages(_ command: RedisCommand)
  /// Ends the connection without a call of `onEnd`; commands under way are lost.
  func close()
}

typealias Connect = (ServerPlace, EventLoop, RedisConnection.Limits) throws(FleetTrouble) -> any ServerConnection

enum SocketOptions {
  /// Ends a TCP connection to a machine that is gone.
  static func endWithoutAnswers(_ socket: CInt) {
    set(SOL_SOCKET, SO_KEEPALIVE, 1, socket)
    // After 15 seconds of silence the kernel asks whether the other end is still there, three times, every 5 seconds.
    set(CInt(IPPROTO_TCP), TCP_KEEPIDLE, 15, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPINTVL, 5, socket)
    set(CInt(IPPROTO_TCP), TCP_KEEPCNT, 3, socket)
    // Milliseconds for which bytes may stay unacknowledged.
    set(CInt(IPPROTO_TCP), TCP_USER_TIMEOUT, 5_000, socket)
  }

  private static func set(_ level: CInt, _ option: CInt, _ value: CInt, _ socket: CInt) {
    var value = value
    // The kernel copies a number of four bytes.
    unsafe _ = setsockopt(socket, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  /// How an attempt to connect has ended; 0 for success.
  static func error(of socket: CInt) -> CInt {
    var code: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    guard unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return errno }
    return code
  }
}
