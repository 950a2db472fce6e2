import ImgdWire

/// One connection that hears events: of which topics, how many it has had, and how many it missed
/// because it did not read.
final class Subscriber {
  private let client: ReplyPlace
  private(set) var topics: Topics = []
  private var sequence = 0
  private var lost = 0
  /// The number of the last event of the log that it has heard or missed.
  private(set) var heard: UInt64
  private var tally: EventLog.Tally

  init(_ client: ReplyPlace, at log: EventLog) {
    self.client = client
    heard = log.last
    tally = log.tally
  }

  func extend(to more: Topics) { topics.formUnion(more) }

  /// Sends an encoded event, without its end, under the next number; one that finds the client
  /// behind is counted as lost.
  func hear(_ event: [UInt8]) {
    guard client.isOpen else { return }
    guard !client.isFull else { return lost += 1 }
    sequence += 1
    client.write { line in
      line.bytes.append(contentsOf: event)
      line.bytes.append(contentsOf: ",\"seq\":\(sequence)}\n".utf8)
    }
  }

  /// Hears all that is new in the log.
  func hear(_ log: EventLog) {
    guard heard < log.last else { return }
    let (events, before) = log.events(after: heard)
    lost += before.number(of: topics, since: tally)
    for event in events where topics.contains(event.topic) { hear(event.text) }
    heard = log.last
    tally = log.tally
  }

  /// Tells how many events were lost, now that the client has read what came before them.
  func catchUp() {
    guard lost > 0 else { return }
    let event = EventHub.encode("overflow") { $0.field("lost", lost) }
    lost = 0
    hear(event)
  }
}
