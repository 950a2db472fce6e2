import ImgdSystem

@testable import ImgdFleet

/// A connection to a planned server. It answers in the order of the commands: one without an answer keeps those
/// behind it waiting, too.
final class PlannedConnection: ServerConnection {
  private struct Question {
    let command: PlannedCommand
    let arriving: (() -> Void)?
    let then: (RedisReply) -> Void
  }

  let place: ServerPlace
  var limits: RedisConnection.Limits
  var onEnd: (FleetTrouble) -> Void = { _ in }
  var onMessage: ((RedisReply) -> Void)?
  private(set) var isOpen = true
  /// The names of all commands that it has brought.
  private(set) var names: [String] = []
  private unowned let server: PlannedServer
  private unowned let loop: EventLoop
  private var waiting = Fifo<Question>()
  private var channels: Set<String> = []
  /// The end of a command that waits in the server.
  private var blocked: Timer?
  private var hasBlocked = false

  init(
    to place: ServerPlace, limits: RedisConnection.Limits, of server: PlannedServer,
    on loop: EventLoop
  ) {
    (self.place, self.limits, self.server, self.loop) = (place, limits, server, loop)
  }

  // MARK: What the engine asks

  func hasRoom(for bytes: Int) -> Bool { bytes <= server.room ?? limits.output }

  func send(
    _ command: RedisCommand, arriving: (() -> Void)?, then: @escaping (RedisReply) -> Void
  ) {
    guard isOpen, hasRoom(for: command.bytes.count) else { return loop.nextTick { then(.lost) } }
    let command = note(command)
    waiting.append(Question(command: command, arriving: arriving, then: then))
    loop.atTickEnd { [weak self] in self?.goOn() }
  }

  func sendForMessages(_ command: RedisCommand) {
    guard isOpen else { return }
    let command = note(command)
    for channel in command.keys {
      if command.name == "SUBSCRIBE" { channels.insert(channel) } else { channels.remove(channel) }
    }
    let confirmation = RedisReply.list(
      [.text(command.name.lowercased()), .text(command.keys.first ?? ""), .number(1)])
    loop.nextTick { [weak self] in self?.onMessage?(confirmation) }
  }

  func close() {
    isOpen = false
    blocked?.cancel()
    while let first = waiting.popFirst() { first.then(.lost) }
  }

  private func note(_ command: RedisCommand) -> PlannedCommand {
    let command = PlannedCommand(command)
    names.append(command.name)
    server.note(command)
    return command
  }

  // MARK: What the server does

  /// The name of the command that is to be answered next.
  var next: String? { waiting.first?.command.name }

  /// Answers as far as the plan goes.
  func goOn() {
    while isOpen, let first = waiting.first {
      guard let reply = server.reply(to: first.command) else {
        return wait(in: first.command)
      }
      answer(reply)
    }
  }

  /// Brings a part of the answer to the command that is next.
  func bringPart() { waiting.first?.arriving?() }

  /// Answers the command that is next.
  func answer(_ reply: RedisReply) {
    guard isOpen, let first = waiting.popFirst() else { return }
    blocked?.cancel()
    hasBlocked = false
    first.then(reply)
  }

  private func wait(in command: PlannedCommand) {
    guard let milliseconds = server.blocking(command), !hasBlocked else { return }
    hasBlocked = true
    blocked = loop.schedule(after: .milliseconds(milliseconds)) { [unowned self] in
      guard server.blocking(command) != nil else { return hasBlocked = false }
      answer(.nothing)
      goOn()
    }
  }

  /// Ends it as a server, or the way to it, does.
  func end(_ reason: String) {
    guard isOpen else { return }
    let onEnd = self.onEnd
    close()
    onEnd(FleetTrouble(.down, reason))
  }

  func hear(_ text: String, in channel: String) {
    guard isOpen, channels.contains(channel) else { return }
    onMessage?(.list([.text("message"), .text(channel), .text(text)]))
  }
}
