import ImgdWire

/// The commands of a connection that wait for their answers: of the disk, of a fetch, of a reload.
struct StandingCommands {
  /// The right to answer one of them, once.
  struct Ticket {
    fileprivate let number: UInt64
  }

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

  /// Whether the command still waits; it does not any more.
  mutating func close(_ ticket: Ticket) -> Bool {
    waiting.removeValue(forKey: ticket.number) != nil
  }

  /// All that wait, in the order in which they came; none does any more.
  mutating func takeAll() -> [Command] {
    defer { waiting = [:] }
    return waiting.sorted { $0.key < $1.key }.map(\.value)
  }
}
