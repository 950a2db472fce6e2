// The place to which the answers of one connection go.
//
// All that commands and fetches know of a client: who it is, whether it takes lines, and what is still to be said to
// it. It outlives its connection, which sends what has collected here, but then takes nothing more.

import ImgdCache
import ImgdSystem
import ImgdWire

/// The connection behind a place, as the place knows it.
protocol ReplyCarrier: AnyObject {
  /// Sends as much as the client takes, and continues the work that waited for that.
  func flush()
  /// Sends what has collected, before the tick is over.
  func sendEarly()
  /// Something that the client waited for is over.
  func workEnded()
  /// The next line may be looked at again.
  func lineReleased()
}

final class ReplyPlace {
  /// Pictures inside lines that take this many bytes are sent before the tick ends; the room is kept for the next ones.
  private static let muchToSend = 32 * 1024

  let peer: PeerCredentials
  /// The number of the connection: no other one has had it.
  let number: UInt64
  var claimant: Claimant { Claimant(uid: peer.uid, connection: number) }
  var limits: WireLimits
  private unowned let desk: ReplyDesk
  /// Nil once the connection, which holds this, is closed.
  private unowned var carrier: (any ReplyCarrier)?
  /// Checked for each line: asking the connection would count references to it.
  private(set) var isOpen = false

  /// Whether lines are taken: the client is there, and reads.
  private(set) var takesLines = true
  var outbox = Outbox()
  private var willFlush = false
  /// The client does not take what was sent.
  var isBehind = false

  /// The descriptors of the line that is being executed, or read; a command that has a use for one takes it.
  var handed: [HandedFile] = []
  var work = LineWork()
  /// How many commands have come over the connection.
  var requests = 0
  /// How many fetches will still be answered here.
  var awaited = 0
  /// The commands that wait for their answers: from the disk, a fetch or a reload.
  private var standing = Roll<(id: RequestID, receipt: ReceiptID?)>()
  private var postponed = Fifo<() -> Void>()
  private var pendingProgress: [ReceiptID: () -> Void] = [:]
  /// Called when the client has taken all that was sent; set while it hears events.
  private var caughtUp: (() -> Void)?

  init(of peer: PeerCredentials, number: UInt64, limits: WireLimits, at desk: ReplyDesk) {
    self.peer = peer
    self.number = number
    self.limits = limits
    self.desk = desk
  }

  func open(_ carrier: any ReplyCarrier) {
    self.carrier = carrier
    isOpen = true
  }

  /// Takes no lines any more: the client reads none.
  func becomeDeaf() { takesLines = false }

  func close() {
    takesLines = false
    isOpen = false
    carrier = nil
    outbox = Outbox()
    work = LineWork()
    standing = Roll()
    postponed = Fifo()
    pendingProgress = [:]
    caughtUp = nil
  }

  /// Appends to the bytes that are sent at the end of the tick.
  func write(_ body: (inout JSONWriter) -> Void) {
    guard takesLines else { return }
    // The outbox's buffer is lent to the writer, and not copied.
    var writer = JSONWriter()
    swap(&writer.bytes, &outbox.bytes)
    body(&writer)
    swap(&writer.bytes, &outbox.bytes)
    flushAtTickEnd()
  }

  /// Appends a fetch's line, of which all but the numbers is encoded already, as `FetchLine` has it.
  func write(
    _ numbers: FetchLine.Numbers, id: Span<UInt8>, facts: Span<UInt8>, details: Span<UInt8> = Span(),
    ending: Span<UInt8>
  ) {
    guard takesLines else { return }
    FetchLine.append(to: &outbox.bytes, id: id, numbers, facts: facts, details: details, ending: ending)
    flushAtTickEnd()
  }

  /// Appends a picture's bytes to the line that they end. When there is much to send, it is sent at once: the room then
  /// serves the next picture as well, instead of growing with all that are asked for together.
  func write(_ payload: Payload) { endLine { writer in payload.withBytes { writer.value(base64: $0) } } }

  /// Appends the bytes of a picture in memory in the same way.
  func write(_ image: CachedImage) { endLine { writer in image.withBytes { writer.value(base64: $0) } } }

  private func endLine(_ bytes: (inout JSONWriter) -> Void) {
    guard takesLines else { return }
    write { writer in
      bytes(&writer)
      writer.endObject()
      writer.newline()
    }
    if outbox.unsent >= Self.muchToSend { carrier?.sendEarly() }
  }

  /// Lets a descriptor ride on the line that is written next.
  func attach(_ descriptor: consuming FileDescriptor) {
    guard takesLines else { return }
    outbox.attach(descriptor)
  }

  func countError() { desk.countError() }

  func flushAtTickEnd() {
    guard !willFlush else { return }
    willFlush = true
    desk.flushAtTickEnd(self)
  }

  /// Sends what is there; a line that comes after that is sent at the end of the tick.
  func flush() {
    willFlush = false
    carrier?.flush()
  }

  /// Whether the client is so far behind that it gets no more pictures and is not read from.
  var isFull: Bool { outbox.isBeyond(bytes: limits.unsentOutput, descriptors: limits.unsentDescriptors) }

  /// Keeps an answer that carries a picture until the client, which may read nothing, has taken those before it.
  func postpone(_ answer: @escaping () -> Void) { postponed.append(answer) }

  var hasPostponed: Bool { !postponed.isEmpty }

  func deliverPostponed() { while isOpen, !isFull, let answer = postponed.popFirst() { answer() } }

  /// Tells a fetch's progress; while the client is behind, only the last of several is told.
  func tellProgress(of receipt: ReceiptID, _ write: @escaping () -> Void) {
    if isBehind { pendingProgress[receipt] = write } else { write() }
  }

  func writePending() {
    if !pendingProgress.isEmpty {
      for write in pendingProgress.values { write() }
      pendingProgress.removeAll()
    }
    caughtUp?()
  }

  var hearsEvents: Bool { caughtUp != nil }

  /// Has the client hear events; `caughtUp` is called whenever it has taken all that was sent.
  func beginHearing(caughtUp: @escaping () -> Void) { self.caughtUp = caughtUp }

  // MARK: Commands and fetches that wait

  /// Whether a line will still be written without a further request.
  var awaitsLines: Bool { awaited > 0 || !standing.isEmpty || !postponed.isEmpty }

  func workEnded() { carrier?.workEnded() }

  /// The right to answer a command that waits, once.
  struct Ticket { fileprivate let number: UInt64 }

  /// Lets a command wait for its answer: its connection is not idle in the meantime.
  func standBy(id: RequestID, receipt: ReceiptID? = nil) -> Ticket {
    Ticket(number: standing.append((id, receipt)))
  }

  /// Ends the waiting of a command with its answer, unless the connection has ended or the command was refused.
  func resume(_ ticket: Ticket, _ answer: () -> Void) {
    guard isOpen, standing.remove(ticket.number) != nil else { return }
    answer()
    workEnded()
  }

  var standingCount: Int { standing.count }

  var hasRoomToStandBy: Bool { standing.count < limits.receipts }

  func refuseStanding(_ error: WireError) {
    while let command = standing.removeOldest() { refuse(id: command.id, receipt: command.receipt, error) }
    workEnded()
  }

  // MARK: The work of a line

  /// Carries out a command in short steps, in the client's turns; the next line waits until nothing is left.
  func walk(_ step: @escaping () -> Bool) { work.begin(step) }

  /// Lets the next request wait until `release`.
  func hold() { work.holds += 1 }

  func release() {
    guard work.isHeld else { return }
    work.holds -= 1
    carrier?.lineReleased()
  }
}

/// The work that is left of a connection's last line.
struct LineWork {
  /// Carries out a part of the rest; returns whether there is more.
  private(set) var step: (() -> Bool)?
  /// How many commands have to be over before the next line.
  var holds = 0

  var isHeld: Bool { holds > 0 }
  var isUnderWay: Bool { step != nil }

  var hasRest: Bool { isUnderWay || isHeld }

  mutating func begin(_ step: @escaping () -> Bool) {
    precondition(self.step == nil, "a line's work is over before the next line")
    self.step = step
  }

  /// Drops the rest: nothing is left, or nobody needs it.
  mutating func end() { step = nil }
}

/// The places that have something to send when a tick ends.
final class ReplyDesk {
  private let loop: EventLoop
  /// Those that have something to send, and those that are sending right now.
  private var writing: [ReplyPlace] = []
  private var flushing: [ReplyPlace] = []
  private lazy var flushAll: () -> Void = { [unowned self] in flushAllWriting() }
  /// How many requests were refused.
  private(set) var errors = 0

  init(loop: EventLoop) { self.loop = loop }

  /// Has a client's answers sent when this tick ends; one action serves all clients.
  func flushAtTickEnd(_ place: ReplyPlace) {
    if writing.isEmpty { loop.atTickEnd(flushAll) }
    writing.append(place)
  }

  /// What is written meanwhile goes into the other array, and is sent in the same tick.
  private func flushAllWriting() {
    swap(&writing, &flushing)
    flush(flushing)
    flushing.removeAll(keepingCapacity: true)
  }

  private func flush(_ places: [ReplyPlace]) {
    let places = places.span
    // By the time a client reads that a purge is over, the event must have been sent to every other client.
    for index in places.indices where places[index].hearsEvents { places[index].flush() }
    for index in places.indices where !places[index].hearsEvents { places[index].flush() }
  }

  func countError() { errors += 1 }
}
