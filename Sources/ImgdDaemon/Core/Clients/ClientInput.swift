// The requests of one client: read in pieces of a shared scratch buffer, cut into lines, executed.
//
// A line may begin work that is longer than a turn (`walk`), or that has to be over before the next
// line may be looked at (`hold`). Until then, and while the client does not take its answers, nothing
// more is read: what a client can have under way by talking is bounded by one read.
//
// A client that shuts its writing side says "no more requests". One that is gone altogether may have
// left requests behind, such as a script's `purge` lines: these are executed before the connection
// ends, but nobody waits for the answers.
//
// A descriptor belongs to the line that the last byte of its read belongs to (`HandedLines`). What the line has no use
// for is closed when it has been executed.

import ImgdProgram
import ImgdSystem
import ImgdWire

final class ClientInput {
  /// How many more reads are made from a client that takes no answers any more: a megabyte, more than its socket holds.
  private static let lastReads = 16

  /// Nil until it is attached; asked for nothing that a hit needs, as each time would count a reference.
  private unowned var session: ClientSession?
  private let turns: Turns
  let scratch: ReadScratch
  private let ahead: LinesAhead
  private let place: ReplyPlace
  private let known: any KnownLineAnswers
  private let copies: HandedBytes
  private let executeParsed: (ParsedLine, ReplyPlace) -> Void
  private var framer: LineFramer
  private let allShapes: LineShapes
  private var shapes = KnownShapes()
  private var handed = HandedLines()

  private var hasReceived = false
  /// A line has been parsed: only the first one shows which protocol the client speaks.
  private var hasParsed = false
  /// The client speaks another protocol: nothing that it sends means anything.
  private var isForeign = false
  /// The client sends no more.
  private(set) var hasEnded = false
  /// All its lines have been executed.
  private(set) var isDone = false
  /// The daemon stops: the requests that have arrived are the last ones.
  private(set) var isFinishing = false
  /// What has arrived is executed without waiting for the client, and then the connection ends.
  private var isWindingUp = false
  private var readsLeft = 0
  private var isInLine = false
  /// The framer is handing out lines, and may not be looked at.
  private var isCutting = false

  init(answeredAt place: ReplyPlace, longestLine: Int, reading clients: Clients) {
    self.place = place
    allShapes = clients.shapes
    turns = clients.turns
    scratch = clients.scratch
    ahead = clients.ahead
    known = clients.known
    copies = clients.copies
    executeParsed = clients.execute
    framer = LineFramer(longestLine: longestLine)
  }

  /// Tells whose input it is, before anything is read.
  func attach(to session: ClientSession) { self.session = session }

  func limitLines(to length: Int) { framer.longestLine = length }

  /// The bytes of lines that wait.
  var heldBytes: Int { isCutting ? 0 : framer.keptBytes }

  /// Whether more may be read now.
  var wantsBytes: Bool { !hasEnded && !isBusy && !place.isFull }

  /// Whether lines or parts of their work are left.
  var isBusy: Bool { place.work.hasRest || isInLine || framer.isPaused || handed.hasMore }

  /// Whether the next line, or the next part of work, has to wait for something other than its turn.
  private var isBlocked: Bool { place.work.isHeld || (place.isFull && !isWindingUp) }

  /// Whether there is something to do that needs only a turn.
  private var hasWork: Bool {
    guard place.isOpen, !isBlocked else { return false }
    return place.work.isUnderWay || framer.isPaused || handed.hasMore || isWindingUp || (hasEnded && !isDone)
  }

  // MARK: Reading

  /// The socket had something to read, which is in the scratch buffer now.
  func receive(_ arrival: StreamSocket.Arrival, isGone: Bool) {
    turns.beginFirst()
    switch arrival {
    case .bytes(let count):
      feed(count)
      // Usually everything is done, and nothing has changed.
      if isBusy || place.isFull { lineUp() } else if framer.keptBytes > 0 { session?.countBuffers() }
    case .nothing: break
    case .end: endInput(isGone: isGone)
    case .broken: endInput(isGone: true)
    }
  }

  /// A last line without its newline is executed: `printf '{"cmd":"stats"}' | socat …` is right.
  private func endInput(isGone: Bool) {
    hasEnded = true
    session?.clients.heap.note(freed: heldBytes)
    if isGone { session?.becomeDeaf() }
    goOn()
    lineUp()
    session?.inputHasEnded()
  }

  /// The client takes no answers any more. Its last requests wait for its turn, since the line of another client may be
  /// under execution.
  func windUp() {
    isWindingUp = true
    readsLeft = hasEnded ? 0 : Self.lastReads
    lineUp()
  }

  /// Executes the last requests at once, as the daemon ends.
  func windUpNow() {
    turns.beginLast()
    windUp()
    while place.isOpen {
      place.work.holds = 0
      goOn()
    }
  }

  /// Notes that from now on no request is certain to arrive whole.
  func finish() { isFinishing = true }

  // MARK: Executing

  /// Goes on until the client's turn is over; returns whether there is more to do.
  func takeTurn() -> Bool {
    isInLine = false
    goOn()
    isInLine = hasWork
    session?.inputHasMoved()
    return isInLine
  }

  /// Waits for a turn, if that is all that is missing.
  func lineUp() {
    if !isInLine, hasWork, let session {
      isInLine = true
      turns.wait(session)
    }
    session?.inputHasMoved()
  }

  /// Executes lines, and what is left of the last one's work, for the length of a turn.
  private func goOn() {
    guard place.isOpen, !isBlocked, walkOn() else { return }
    resume()
    feedHanded()
    guard place.isOpen, !framer.isPaused, !handed.hasMore, !place.work.hasRest else { return }
    if isWindingUp, readRest() { return }
    if hasEnded || isWindingUp { isDone = isDone || finishLines() }
    if isDone, isWindingUp, !place.work.hasRest { session?.close() }
  }

  /// Reads no more than a socket holds: a client may shut its reading side and go on talking for ever. Returns whether
  /// there may be more.
  private func readRest() -> Bool {
    guard readsLeft > 0, case .bytes(let count)? = session?.read(into: scratch) else { return false }
    readsLeft -= 1
    feed(count)
    return true
  }

  private func feed(_ count: Int) {
    if !hasReceived { begin(count) }
    if scratch.hasDescriptors || !place.handed.isEmpty {
      let files = scratch.takeDescriptors()
      scratch.withBytes(count) { handed.add($0, with: files) }
      return feedHanded()
    }
    isCutting = true
    defer { isCutting = false }
    let place = place
    scratch.withBytes(count) { bytes in
      if known.looksAhead, !framer.isPaused, ahead.find(in: bytes, { shapes.find($0) }) {
        known.prepare(ahead, in: bytes)
      }
      framer.feed(bytes) { serve($0, for: place) }
    }
    ahead.forget()
  }

  /// Feeds what was read with descriptors, as far as that is possible now: each comes with its line.
  private func feedHanded() {
    while place.isOpen, !framer.isPaused, !isBlocked, !place.work.isUnderWay, handed.hasMore, !turns.isOver(after: 0) {
      let part = handed.takeNext(for: place)
      // Two are refused as more are.
      while place.handed.count > 2 { copies.close(place.handed.removeLast(), of: place) }
      isCutting = true
      framer.feed(part.span) { serve($0, for: place, isKnown: place.handed.isEmpty) }
      isCutting = false
      if part.last == UInt8(ascii: "\n") { closeHanded() }
    }
  }

  /// Closes what the last line has had no use for.
  private func closeHanded() {
    for file in place.handed { copies.close(file, of: place) }
    place.handed = []
  }

  private func begin(_ count: Int) {
    hasReceived = true
    if let foreign = scratch.withBytes(count, ForeignProtocol.init(firstBytes:)) { sendAway(foreign) }
  }

  /// Anything else that arrives is read and ignored: left unread, it would cost the client the answer.
  private func sendAway(_ foreign: ForeignProtocol) {
    isForeign = true
    session?.sayLast(foreign.farewell)
  }

  private func resume() {
    isCutting = true
    defer { isCutting = false }
    framer.resume { serve($0, for: place) }
  }

  /// Executes the lines that are left; returns whether that was all. A client that has said nothing yet is about to: it
  /// is told to ask the next daemon, rather than left to guess what became of its request.
  private func finishLines() -> Bool {
    if isFinishing, !hasReceived { place.refuse(id: .none, receipt: nil, .shuttingDown) }
    isCutting = true
    defer { isCutting = false }
    let isOver = framer.finish { serve($0, for: place, isLast: true, isKnown: place.handed.isEmpty) }
    if isOver { closeHanded() }
    return isOver
  }

  /// `isKnown` says that a line of a known shape need not be executed.
  private func serve(
    _ finding: borrowing LineFramer.Finding, for place: ReplyPlace, isLast: Bool = false, isKnown: Bool = true
  ) -> LineFramer.Flow {
    guard place.isOpen else { return .pause }
    var steps = Turns.hit
    switch finding {
    case .line(let line):
      if isKnown, answer(line, for: place) { break }
      steps = Turns.longStep
      execute(line, isLast: isLast)
    case .tooLong: refuseTooLong()
    }
    if place.work.isUnderWay, !walkOn() { return .pause }
    return isBlocked || turns.isOver(after: steps) ? .pause : .next
  }

  private func refuseTooLong() {
    guard !isForeign else { return }
    place.refuse(id: .none, receipt: nil, .lineTooLong(limit: place.limits.line))
  }

  /// `isLast` says that the stream ended before the line's newline: where it was the daemon that ended the stream, the
  /// line may be the first half of a request.
  private func execute(_ line: Span<UInt8>, isLast: Bool) {
    guard !isForeign else { return }
    let isFirst = !hasParsed
    hasParsed = true
    let parsed = RequestParser.parse(line)
    if isFirst, case .refused = parsed.outcome, let foreign = ForeignProtocol(firstLine: line) {
      return sendAway(foreign)
    }
    guard place.handed.count < 2 else {
      return place.refuse(id: parsed.id, receipt: parsed.receipt, url: parsed.url, .tooManyHanded)
    }
    if isLast, isFinishing, case .refused = parsed.outcome {
      return place.refuse(id: .none, receipt: nil, .shuttingDown)
    }
    if case .request(.fetch(let request)) = parsed.outcome, request.mayBeKnown, request.identifier == nil,
      // Where every request is logged, all of them are parsed.
      !Log.isVerbose, known.mayAnswer(place), shapes.find(line) == nil
    {
      shapes.learn(from: line, in: allShapes)
      // Their shapes may have other numbers now.
      ahead.forget()
    }
    executeParsed(parsed, place)
  }

  /// Answers a line without parsing it, if it has a known shape and asks for a picture in memory.
  private func answer(_ line: Span<UInt8>, for place: ReplyPlace) -> Bool {
    guard let found = ahead.next(line) ?? shapes.find(line) else { return false }
    return known.answer(line, found, with: shapes.further(of: found.shape), to: place)
  }

  // MARK: Work of a line

  /// Goes on with the work of a line; returns whether it is over.
  private func walkOn() -> Bool {
    while let step = place.work.step {
      guard !turns.isOver(after: Turns.longStep), !isBlocked else { return false }
      if !step() { place.work.end() }
    }
    return true
  }

  /// Drops what is left of a line's work: the connection has ended, and nobody needs it.
  func stop() {
    place.work.end()
    shapes.forgetAll(in: allShapes)
    place.handed += handed.removeAll()
    closeHanded()
  }

  func forgetShapes() {
    shapes.forgetAll(in: allShapes)
    ahead.forget()
  }

  /// Goes on after a command that the next line waited for.
  func lineReleased() { if !isCutting { lineUp() } }
}
