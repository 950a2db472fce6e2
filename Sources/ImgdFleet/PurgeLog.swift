// Reads the purges of all hosts, on a connection of its own, which waits in the server for the next one.
//
// The numbers of purges have no gaps, so a missing one shows. The numbers do not show that the log has become
// another one: the server was emptied, or replaced by an old copy. So the generation, and the random number of
// the last purge that was heard, are checked when the connection begins and every second. If they differ, the
// log is read from its beginning.

internal import ImgdCache
internal import ImgdSystem

final class PurgeLog {
  /// How many purges are read at a time, which limits the longest reply.
  private static let page = 100
  private static let mostReplyBytes = page * PurgeEntry.mostBytes + (1 << 20)
  /// The server answers after this many milliseconds, whether there is a purge or not.
  private static let blockMilliseconds = 1_000
  /// How often to check that the log is still the same: while no purges come, after each answer.
  private static let timeBetweenSights: Duration = .milliseconds(900)
  private static let patience: Duration = .seconds(3)

  private unowned let server: FleetServer
  private var isWanted = false
  /// Whether the log has been read: else the purges up to the position, which an earlier process has heard, are reported
  /// once more, since what the server has is judged by them.
  private var hasRead = false
  /// The last purge that was reported, and the life of the data that it belongs to.
  private var position: FleetPosition?
  private var connection: (any ServerConnection)?
  private var clock = ServerClock()
  /// Whether the next purge is the log's first one, whatever its number: earlier ones have been cut off.
  private var isFromBeginning = false
  private var lookedAt = Instant(nanoseconds: 0)
  private var timer: Timer?

  init(_ server: FleetServer) { self.server = server }

  private var loop: EventLoop { server.loop }
  private var keys: FleetKeys { server.keys }

  /// Sets the last purge that an earlier process has heard; nil if there was none.
  func join(from position: FleetPosition?) {
    isWanted = true
    self.position = position
  }

  func begin(_ access: ServerAccess) {
    guard isWanted else { return }
    disconnect()
    do throws(FleetTrouble) {
      let connection = try server.link.connect(access.place, loop, RedisConnection.Limits(reply: Self.mostReplyBytes))
      connection.onEnd = { [unowned self] trouble in fail(trouble) }
      self.connection = connection
      if let login = access.login { ask(login) { _ in } }
      lookAround(isFirst: true)
    } catch { fail(error) }
  }

  func disconnect() {
    timer?.cancel()
    let connection = self.connection.take()
    connection?.close()
  }

  // MARK: Whether it is the same log

  /// Asks for the clock, the generation and the last purge that was heard, then reads on. `loss` is known already.
  private func lookAround(isFirst: Bool = false, loss: String? = nil) {
    lookedAt = loop.now
    var sight = LogSight()
    ask(RedisCommand("TIME")) { [unowned self] reply in if clock.set(reply, at: loop.now) { server.note(clock) } }
    ask(RedisCommand("GET", keys.generation)) { reply in sight.generation = ServerCheck.generation(reply) }
    if isFirst {
      ask(RedisCommand("XREVRANGE", keys.purges, "+", "-", "COUNT", "1")) { reply in sight.newest = reply.list?.first }
    }
    let heard = LogEntry.id(position?.number ?? 0)
    ask(RedisCommand("XRANGE", keys.purges, heard, heard)) { [unowned self] reply throws(FleetTrouble) in
      sight.heard = reply.list?.first
      try compare(sight, isFirst: isFirst, loss: loss)
    }
  }

  private func compare(_ sight: LogSight, isFirst: Bool, loss known: String?) throws(FleetTrouble) {
    guard let generation = sight.generation else {
      throw FleetTrouble(.down, "its data are gone: the key \(keys.generation) is missing")
    }
    let loss = known ?? position.flatMap { sight.loss(since: $0) }
    guard isFirst else { return loss == nil ? wait() : lookAround(isFirst: true) }
    let last = try sight.last(of: keys.purges)
    if let loss, let position, sight.isEarlier(than: position, last: last) { return startAnew(generation, loss) }
    // Before the first purge there is nothing to read once more, and a log that begins with another one was cut.
    isFromBeginning = position == nil || loss != nil || (!hasRead && position?.number != 0)
    hasRead = true
    if isFromBeginning { position = FleetPosition(generation: generation, number: 0, nonce: 0) }
    server.joined(generation)
    tell(last: last, isFromBeginning: isFromBeginning, loss: loss)
    readPage()
  }

  /// Begins another life of data that are of an earlier time. The missing purges mean pictures that are there again,
  /// and hosts that have not heard them would never notice: with another life of the data, all hosts do.
  private func startAnew(_ generation: UInt64, _ loss: String) {
    let known = max(generation, position?.generation ?? 0)
    let lives = [generation, DataLife.begun(at: clock.time(at: loop.now), after: known)].map { String($0) }
    ask(FleetScript.startAnew.command(keys: [keys.generation], lives)) { [unowned self] reply throws(FleetTrouble) in
      guard reply == .number(1) else {
        throw FleetTrouble(.down, "its data are of an earlier time, and it takes nothing: \(loss)")
      }
      lookAround(isFirst: true, loss: loss)
    }
  }

  private func tell(last: UInt64, isFromBeginning: Bool, loss: String?) {
    let generation = position?.generation ?? 0
    server.report(
      .joined(FleetJoin(generation: generation, last: last, isFromBeginning: isFromBeginning, loss: loss)))
  }

  // MARK: Reading

  private func readPage() {
    let start = "(" + LogEntry.id(position?.number ?? 0)
    let command = RedisCommand("XRANGE", keys.purges, start, "+", "COUNT", String(Self.page))
    ask(command) { [unowned self] reply throws(FleetTrouble) in
      let entries = try LogEntry.all(in: reply, after: position?.number ?? 0)
      readPurges(in: entries)
      guard entries.count < Self.page else { return readPage() }
      isFromBeginning = false
      server.link.enter()
      wait()
    }
  }

  private func wait() {
    let command = RedisCommand(
      "XREAD", "BLOCK", String(Self.blockMilliseconds), "COUNT", String(Self.page), "STREAMS", keys.purges,
      LogEntry.id(position?.number ?? 0))
    ask(command) { [unowned self] reply throws(FleetTrouble) in
      // Nothing, or one stream: its name, and its entries.
      if let stream = reply.list?.first?.list, stream.count == 2 {
        readPurges(in: try LogEntry.all(in: stream[1], after: position?.number ?? 0))
      }
      if loop.now - lookedAt < Self.timeBetweenSights { wait() } else { lookAround() }
    }
  }

  private func readPurges(in entries: [LogEntry]) {
    let now = clock.time(at: loop.now)
    let all = entries.map { PurgeEntry($0.fields, serverNow: now, wallNow: WallClock.seconds) }
    var heard: [HeardPurge] = []
    for (index, entry) in entries.enumerated() {
      let read = all[index]
      let expected = (position?.number ?? 0) + 1
      let isNext = entry.number == expected || isFromBeginning
      isFromBeginning = false
      // Those that cannot be read, one after the other, are one loss.
      let isFollowed = read == nil && index + 1 < all.count && all[index + 1] == nil
      if !isFollowed, read == nil || !isNext {
        tellPurges(&heard)
        lose(entry, expected: expected)
      }
      if let generation = position?.generation {
        let nonce = read?.purge.nonce ?? 0
        position = FleetPosition(generation: generation, number: entry.number, nonce: nonce)
      }
      guard let read else { continue }
      heard.append(HeardPurge(number: entry.number, purge: read.purge, age: clock.age(of: read.askedAt, at: loop.now)))
    }
    tellPurges(&heard)
  }

  private func tellPurges(_ heard: inout [HeardPurge]) {
    guard !heard.isEmpty else { return }
    server.report(.purges(heard))
    heard = []
  }

  /// Reports a loss: as the missing purges are unknown, the log is reported as if it began here.
  private func lose(_ entry: LogEntry, expected: UInt64) {
    let loss =
      entry.number == expected
      ? "the purge \(entry.number) cannot be read: it is of another version, or somebody else's"
      : "the purges from \(expected) to \(entry.number &- 1) are missing"
    tell(last: entry.number, isFromBeginning: true, loss: loss)
  }

  // MARK: The connection

  /// Sends a command; a server that does not answer for three seconds is taken to be gone.
  private func ask(_ command: RedisCommand, _ take: @escaping (RedisReply) throws(FleetTrouble) -> Void) {
    guard let connection else { return }
    limit()
    connection.send(command) { [unowned self, weak connection] reply in
      // The end of the connection is reported separately, with its reason.
      guard let connection, connection === self.connection, connection.isOpen else { return }
      limit()
      do throws(FleetTrouble) { try take(reply.accepted()) } catch { fail(error) }
    }
  }

  private func limit() {
    timer?.cancel()
    timer = loop.schedule(after: Self.patience) { [unowned self] in
      fail(FleetTrouble(.down, "the log of purges was not answered for three seconds"))
    }
  }

  private func fail(_ trouble: FleetTrouble) {
    disconnect()
    server.link.leave(trouble)
  }
}

/// An entry of the stream of purges as it was read; anybody may have written it.
struct LogEntry {
  let number: UInt64
  let fields: [RedisReply]

  static func id(_ number: UInt64) -> String { "0-\(number)" }

  /// Nil if its name is not one that this log uses.
  init?(_ reply: RedisReply) {
    guard let parts = reply.list, parts.count == 2, let name = parts[0].text, name.hasPrefix("0-"),
      let number = UInt64(name.dropFirst(2))
    else { return nil }
    self.number = number
    fields = parts[1].list ?? []
  }

  /// All entries of an answer; their numbers have to be above `number` and ascend.
  static func all(in reply: RedisReply, after number: UInt64) throws(FleetTrouble) -> [LogEntry] {
    var entries: [LogEntry] = []
    for part in reply.list ?? [] {
      guard let entry = LogEntry(part), entry.number > entries.last?.number ?? number else {
        throw FleetTrouble(
          .refused, "the stream of purges has entries of somebody else: delete it, or set another Fleet.Namespace=")
      }
      entries.append(entry)
    }
    return entries
  }
}

/// The state of the log, to be compared with the last purge that was heard.
struct LogSight {
  var generation: UInt64?
  var newest: RedisReply?
  var heard: RedisReply?

  /// The number of the newest purge; 0 before the first.
  func last(of stream: String) throws(FleetTrouble) -> UInt64 {
    guard let newest else { return 0 }
    guard let entry = LogEntry(newest) else {
      throw FleetTrouble(
        .refused, "its stream \(stream) has entries of somebody else: delete it, or set another Fleet.Namespace=")
    }
    return entry.number
  }

  /// Why purges since a position may be missing; nil if none is.
  func loss(since position: FleetPosition) -> String? {
    guard generation == position.generation else { return "the server was emptied, or is another one" }
    guard position.number > 0 else { return nil }
    guard let entry = heard.flatMap({ LogEntry($0) }) else {
      return "the purge \(position.number) is not in the log any more, or not yet"
    }
    let nonce = PurgeEntry(entry.fields, serverNow: 0, wallNow: 0)?.purge.nonce ?? 0
    return nonce == position.nonce ? nil : "the purge \(position.number) is another one than was heard"
  }

  /// Whether the log was put back to a state before a position, not trimmed beyond it; `last` is its newest purge.
  func isEarlier(than position: FleetPosition, last: UInt64) -> Bool {
    guard generation == position.generation else {
      return generation.map { DataLife.isEarlier($0, than: position.generation) } ?? false
    }
    guard position.number > 0 else { return false }
    return last < position.number || heard != nil
  }
}
