import ImgdCache
import ImgdFleet
import ImgdSystem
import ImgdWire

/// `fleet`: the hosts that share a server, by what they have written about themselves.
final class FleetCommand {
  /// How many hosts are described in one step.
  private static let mostAtOnce = 16
  /// How many questions of a client may wait for the server; its next request waits then.
  private static let mostQuestions = 2

  private let tier: FleetTier
  private let known: FleetHosts
  private let purges: FleetPurges
  private let turns: Turns
  /// Nil for a machine without a fleet.
  private let server: String?

  init(_ parts: CoreParts, server: String?) {
    tier = parts.fleet
    known = parts.fleetHosts
    purges = parts.fleetPurges
    turns = parts.turns
    self.server = server
  }

  /// A host as it is told, with its age by the server's clock.
  fileprivate struct Row {
    let number: UInt64
    var name: String?
    var isOwn = false
    var age = Duration.zero
    let line: HostNote
  }

  func hosts(_ page: PageRequest, id: RequestID, for client: ReplyPlace) {
    guard let start = client.start(of: page, for: .fleet, id: id) else { return }
    let answer = ListAnswer("hosts", of: page, id: id, to: client)
    guard let server else { return answer.finish(cursor: nil) { $0.field("state", "off") } }
    let ticket = client.standBy(id: id)
    let isLast = client.standingCount > Self.mostQuestions
    if isLast { client.hold() }
    known.ask { [self] outcome in
      let rows = rows(of: outcome)
      let last = max((try? outcome.get().last) ?? 0, purges.history.position?.number ?? 0)
      describe(rows.filter { $0.number > start }, behind: last, into: answer) { [self] cursor in
        client.resume(ticket) {
          answer.finish(cursor: cursor) { line in
            line.field("last", Int(clamping: last))
            line.field("state", tier.state.phase.rawValue)
            if let reason = tier.state.reason { line.field("reason", reason) }
            line.field("server", server)
            if let problem = problem(outcome) { line.field("problem", problem) }
          }
        }
        if isLast { client.release() }
      }
    }
  }

  /// All hosts by their numbers; this one as it is now, whether it is in the list or not.
  private func rows(of outcome: FleetHosts.Answer) -> [Row] {
    guard case .success(let report) = outcome else { return [Row(number: .max, isOwn: true, line: known.line)] }
    let others = report.hosts.filter { $0.name != report.own }
    let own = Row(number: UInt64(report.own, radix: 16) ?? .max, name: report.own, isOwn: true, line: known.line)
    return (others.map { Row(number: $0.number, name: $0.name, age: $0.age, line: $0.line) } + [own])
      .sorted { $0.number < $1.number }
  }

  private func problem(_ outcome: FleetHosts.Answer) -> String? {
    if case .failure(let problem) = outcome { problem.reason } else { known.refusal }
  }

  private func describe(
    _ rows: [Row], behind last: UInt64, into answer: ListAnswer, then: @escaping (_ cursor: String?) -> Void
  ) {
    var rest = rows[...]
    turns.carryOut {
      var end: UInt64?
      for row in rest.prefix(min(answer.room, Self.mostAtOnce)) {
        rest.removeFirst()
        answer.add { $0.host(row, behind: last) }
        end = row.number
      }
      guard rest.isEmpty || answer.room == 0 else { return true }
      then(rest.isEmpty ? nil : end.map(String.init))
      return false
    }
  }
}

extension JSONWriter {
  fileprivate mutating func host(_ row: FleetCommand.Row, behind last: UInt64) {
    let line = row.line
    field("host", line.machine)
    if let name = row.name { field("name", name) }
    if row.isOwn { field("self", true) }
    field("version", line.version)
    fields([
      "layout": line.layout, "position": Int(clamping: line.position),
      "lag": Int(clamping: last > line.position ? last - line.position : 0), "waiting": line.waiting,
      "pending": line.pending, "age_ms": Int(row.age.milliseconds),
    ])
    if row.age > FleetHosts.longestSilence { field("away", true) }
    object("limits") { limits in
      for setting in line.settings {
        limits.name(setting.name)
        limits.value(setting.value)
      }
    }
  }
}
