import ImgdSystem
import ImgdWire

/// The newest events, for subscribers who are told in turns.
///
/// It is bounded: an event that has to make room is lost to those who have not heard it by then, and the tally kept
/// with each event says how many were lost of which topics.
struct EventLog {
  static let most = 1_024

  /// How many events of each topic there have been.
  struct Tally {
    private var counts = [0, 0, 0, 0]

    mutating func count(_ topic: Topics) { counts[topic.rawValue.trailingZeroBitCount] += 1 }

    /// How many events of some topics came after an earlier tally.
    func number(of topics: Topics, since earlier: Tally) -> Int {
      counts.indices.reduce(0) { sum, index in
        topics.contains(Topics(rawValue: 1 << index)) ? sum + counts[index] - earlier.counts[index] : sum
      }
    }
  }

  struct Event {
    let topic: Topics
    /// Encoded, but for its end.
    let text: [UInt8]
    /// The tally of all events before this one.
    fileprivate let before: Tally
  }

  private var events = Fifo<Event>()
  /// The number of the last event.
  private(set) var last: UInt64 = 0
  private(set) var tally = Tally()

  mutating func append(_ text: [UInt8], of topic: Topics) {
    if events.count == Self.most { _ = events.popFirst() }
    events.append(Event(topic: topic, text: text, before: tally))
    tally.count(topic)
    last += 1
  }

  /// The events after a number that are still here, and the tally before the first of them.
  func events(after number: UInt64) -> (events: [Event], before: Tally) {
    let passed = events.count - Int(min(last - number, UInt64(events.count)))
    let rest = Array(events.all[passed...])
    return (rest, rest.first?.before ?? tally)
  }

  /// Drops all events, once everybody has heard them.
  mutating func empty() { events = Fifo() }
}
