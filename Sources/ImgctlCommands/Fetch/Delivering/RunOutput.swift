// Records go to the output, sentences to the messages, and both above the progress that is shown. Signals are held back
// during a run, so that it can leave a clean terminal and no temporary file; but a reader of the output, or of a pipe,
// may take as long as it likes. While imgctl waits for that reader, signals end imgctl at once.

import ImgdConnection
import ImgdSystem
import ImgdWire

/// Everything that a run prints: its records in the order in which the pictures were asked for or as they come.
final class RunOutput {
  let progress: ProgressDisplay
  /// Set while signals are held back.
  var interrupts: Interrupts?
  private let console: Console
  private let isQuiet: Bool
  private let isOrdered: Bool
  private let loop: EventLoop
  private let onFailure: (SystemFailure) -> Void
  /// The number of the order whose record is next.
  private var next = 0
  /// Records that came before their turn; an order may have none.
  private var early: [Int: Record?] = [:]
  private var ready: [Record] = []
  private var isFlushPlanned = false
  private var isBroken = false

  init(
    _ context: Context, _ progress: ProgressDisplay, isOrdered: Bool, on loop: EventLoop,
    onFailure: @escaping (SystemFailure) -> Void
  ) {
    self.progress = progress
    console = context.console
    isQuiet = context.manner.isQuiet
    self.isOrdered = isOrdered
    self.loop = loop
    self.onFailure = onFailure
  }

  /// How many records wait for an earlier one.
  var waiting: Int { early.count }

  /// Prints the record with which an order ends, when it is its turn.
  func put(_ record: Record?, of number: Int) {
    guard isOrdered else { return insert(record) }
    early[number] = .some(record)
    while let record = early.removeValue(forKey: next) {
      insert(record)
      next += 1
    }
  }

  /// Prints a record that has no place in the order.
  func insert(_ record: Record?) {
    guard let record else { return }
    ready.append(record)
    flushLater()
  }

  func complain(_ sentence: String) { progress.print { [console] in console.complain(sentence) } }

  func remark(_ sentence: String) { if !isQuiet { progress.print { [console] in console.remark(sentence) } } }

  /// Does what may take as long as another program likes; meanwhile signals end imgctl at once.
  func whileSignalsEnd<E: Error>(_ body: () throws(E) -> Void) throws(E) {
    guard let interrupts else { return try body() }
    try interrupts.whileAllowed(body)
  }

  /// Prints what is left, and leaves the terminal clean.
  func close() {
    progress.close()
    // The records that they wait for will not come.
    for number in early.keys.sorted() { if case let record?? = early[number] { ready.append(record) } }
    early = [:]
    flush()
    interrupts = nil
  }

  /// Writes at the end of the tick, so that many answers take one write; on a terminal, with the next frame.
  private func flushLater() {
    guard !isFlushPlanned else { return }
    isFlushPlanned = true
    loop.atTickEnd { [self] in
      isFlushPlanned = false
      guard console.terminals.output else { return flush() }
      progress.print { [output = Unowned(self)] in output.object.flush() }
    }
  }

  private func flush() {
    guard !ready.isEmpty, !isBroken else { return }
    if !console.outputHasRoom() { progress.erase() }
    do throws(SystemFailure) { try whileSignalsEnd { () throws(SystemFailure) in try writeReady() } } catch {
      isBroken = true
      onFailure(error)
    }
  }

  /// Writes what is ready, neighbouring lines together.
  private func writeReady() throws(SystemFailure) {
    let records = ready
    ready = []
    var text: [UInt8] = []
    for record in records {
      switch record {
      case .line(let line): text += line
      case .picture(let picture):
        if !text.isEmpty { try console.output(text) }
        text = []
        try OutputFile.read(picture.descriptor, console.output)
      }
    }
    if !text.isEmpty { try console.output(text) }
  }
}

/// How a run writes down what became of each picture.
enum RecordStyle {
  case nothing
  /// A path or a description, followed by the subject if the records are listed.
  case text(isListed: Bool, end: UInt8)
  /// The daemon's answer, with the subject under this name.
  case json(subject: String)

  var isJSON: Bool { if case .json = self { true } else { false } }

  /// The record of a picture that is in a file, or in none.
  func success(_ order: FetchOrder, _ answer: Answer?, text: String, file: String? = nil, isSkipped: Bool = false)
    -> Record?
  {
    switch self {
    case .nothing: return nil
    case .text(let isListed, let end):
      guard isListed else { return .line(Array(text.utf8) + [end]) }
      let subject = withoutPasswords(order.subject)
      // The subject must not end the line early, nor hold anything that a terminal obeys.
      return .line(Array((text + "\t" + (end == 0 ? subject : printable(subject))).utf8) + [end])
    case .json(let subject):
      var line = JSONRecord(answer, order, subject: subject)
      line.set("file", file.map(JSONValue.string))
      line.set("skipped", isSkipped ? .bool(true) : nil)
      return .line(line.bytes)
    }
  }

  /// The record of a failure: the daemon's, or one that imgctl itself has found.
  func failure(_ order: FetchOrder, _ answer: Answer?, own: (code: String, message: String)? = nil) -> Record? {
    guard case .json(let subject) = self else { return nil }
    var line = JSONRecord(answer, order, subject: subject)
    if let own {
      line.set("ok", false)
      line.set("error", ["code": .string(own.code), "message": .string(own.message), "retryable": false])
    }
    return .line(line.bytes)
  }

  func event(_ order: FetchOrder, _ event: Answer) -> Record? {
    guard case .json(let subject) = self else { return nil }
    return .line(JSONRecord(event, order, subject: subject).bytes)
  }
}

/// A line of `--json`: the daemon's line without the `id`, which is imgctl's own, and with what imgctl adds.
struct JSONRecord {
  private var members: [JSONValue.Member]

  /// Begins with an answer or an event, or else with a success for which the daemon was not asked.
  init(_ answer: Answer?, _ order: FetchOrder, subject: String) {
    let all = answer?.reply.members ?? [JSONValue.Member("ok", .bool(true))]
    members = all.filter { $0.name != "id" }
    let isFile = order.kind != .url
    if !members.contains(where: { $0.name == subject }) {
      set(subject, .string(isFile ? FetchRequest.descriptorURL : order.subject))
    }
    if isFile { set("input", .string(order.subject)) }
  }

  /// Sets a member in its place or at the end; nil changes nothing.
  mutating func set(_ name: String, _ value: JSONValue?) {
    guard let value else { return }
    let member = JSONValue.Member(name, value)
    if let place = members.firstIndex(where: { $0.name == name }) {
      members[place] = member
    } else {
      members.append(member)
    }
  }

  var bytes: [UInt8] { Array(withoutPasswords(JSONValue.object(members).encoded()).utf8) + [UInt8(ascii: "\n")] }
}
