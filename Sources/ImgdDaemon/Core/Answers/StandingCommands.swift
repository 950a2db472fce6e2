import ImgdWire

/// The commands of a connection that wait for their answers: from the disk, a fetch or a reload.
struct StandingCommands {
  /// The right to answer one of them, once.
  struct Ticket { fileprivate let number: UInt64 }

  struct Command {
    let id: RequestID
    let receipt: ReceiptID?
  }

  private var waiting: [UInt64: Command] = [:]
  private var last: UInt64 = 0

  var count: Int { waiting.count }
  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ command: Command) -> Ticket {
    last += 1
    waiting[last] = command
    return Ticket(number: last)
  }

  /// Ends the wait of a command; returns whether it was still waiting.
  mutating func close(_ ticket: Ticket) -> Bool { waiting.removeValue(forKey: ticket.number) != nil }

  /// Hands out all that wait, in the order in which they came, and forgets them.
  mutating func takeAll() -> [Command] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key < $1.key }.map(\.value)
  }
}
