import ImgdConnection
import ImgdSystem

/// The server that this host shares with others, and whether the purges of all hosts arrive.
struct FleetCheck {
  /// Clocks may differ by so many seconds.
  private static let greatestSkew = 5

  /// `Fleet.Server` as the configuration has it; empty if this machine is in no fleet.
  private let configured: String
  private let fleet: Reply?
  private let hosts: FleetHosts
  /// Whether this user is shown no more than its own.
  private let isHidden: Bool

  init(_ answers: Interview.Answers) {
    let config = answers.config.object("config") ?? answers.config
    configured = config.object("Fleet")?.text("Server") ?? ""
    fleet = answers.stats.object("fleet")
    hosts = FleetHosts(answers.hosts)
    isHidden = answers.stats.object("downloads") == nil
  }

  var findings: [Finding] {
    guard let fleet, let state = fleet.text("state") else { return configured.isEmpty || isHidden ? [] : [notStarted] }
    return [server(state, of: fleet), memory(fleet), clock(fleet)].compactMap { $0 }
      + pictures(fleet.objects("pictures") ?? []) + purges(fleet.object("purges"))
      + [list].compactMap { $0 } + hosts.others.flatMap(judge)
  }

  private var notStarted: Finding {
    .note(
      "fleet", "Fleet.Server=\(configured) is set, and not used by the imgd that runs",
      remedy: "restart imgd: this key has no effect before")
  }

  private func server(_ state: String, of fleet: Reply) -> Finding {
    let server = fleet.display("server")
    // The reason names the server.
    let text = fleet.text("reason")
    switch state {
    case "ok": return .ok("fleet", "\(server): \(fleet.display("hits")) hits, \(fleet.display("stores")) stored")
    case "connecting": return .note("fleet", text ?? "\(server): connecting", remedy: "ask again in a moment")
    case "read-only":
      return .problem(
        "fleet", text ?? "\(server) can be read, and takes nothing",
        remedy: "Fleet.Server in imgd.conf has to be the primary, with room on its disk")
    case "refused":
      return .problem(
        "fleet", text ?? "\(server) must not be used as it is",
        remedy: text?.split(separator: " ").contains { $0.hasPrefix("Fleet.") } == true
          ? "correct it: a file is read again by itself, another value of a key needs a restart"
          : "correct it there: imgd looks again by itself; fleet.md has the settings")
    default:
      return .problem(
        "fleet", text ?? "\(server) does not answer",
        remedy: "see whether it runs and can be reached from here, as the user imgd")
    }
  }

  /// The servers for pictures that are away, each with what it says.
  private func pictures(_ servers: [Reply]) -> [Finding] {
    servers.filter { $0.text("state") != "ok" }.map { server in
      let state = server.display("state")
      return .note(
        "fleet", server.text("reason") ?? "the server for pictures \(server.display("server")) is \(state)",
        remedy: "see to it: until it can be used, its share of the pictures is not shared")
    }
  }

  private func purges(_ purges: Reply?) -> [Finding] {
    var findings: [Finding] = []
    if let pending = purges?.number("pending"), pending > 0 {
      findings.append(
        .note(
          "fleet", "purges of this host that wait until the server takes them: \(pending)",
          remedy: purges?.text("reason").map { "see to the server: \($0)" }))
    }
    if let gaps = purges?.number("gaps"), gaps > 0 {
      findings.append(
        .note(
          "fleet",
          "since the start purges of others may have been missed " + (gaps == 1 ? "once" : "\(gaps) times")
            + ": all pictures were marked as stale",
          remedy: "see why in the log of imgd (journalctl -u imgd IMGD_EVENT=fleet); a server that is "
            + "emptied is a usual cause"))
    }
    return findings
  }

  // MARK: Settings of the server

  private func memory(_ fleet: Reply) -> Finding? {
    guard fleet.number("maxmemory") == 0 else { return nil }
    return .note(
      "fleet", "the server has no limit of its memory: nothing is evicted until the machine has none left",
      remedy: "set maxmemory in its configuration, such as maxmemory 1gb")
  }

  private func clock(_ fleet: Reply) -> Finding? {
    guard let ahead = fleet.number("clock_ahead_s"), abs(ahead) > Self.greatestSkew else { return nil }
    let direction = ahead > 0 ? "ahead of" : "behind"
    return .note(
      "fleet", "the server's clock is \(abs(ahead)) s \(direction) this machine's",
      remedy: "have NTP set both (timedatectl): the ages of pictures go by the server's clock")
  }

  // MARK: The hosts

  private var list: Finding? {
    guard let problem = hosts.problem, ["ok", "read-only"].contains(fleet?.text("state")) else { return nil }
    return .note(
      "fleet", "the hosts of the fleet cannot be compared: \(problem)",
      remedy: "see to the server or its user; the list is for people alone, and fleet.md has the rights that it needs")
  }

  private func judge(_ host: FleetHost) -> [Finding] {
    if host.isAway {
      return [
        .note(
          "fleet", "\(host.name) has not been heard of for \(Quantity.time(milliseconds: host.age))",
          remedy: "see whether imgd runs there and reaches the server: sudo imgctl doctor on \(host.name)")
      ]
    }
    var findings: [Finding] = []
    let differences = hosts.differences(of: host)
    if !differences.isEmpty {
      findings.append(
        .note(
          "fleet", "\(host.name) differs from this host: \(differences.joined(separator: "; "))",
          remedy: "give all hosts the same version and settings: what one does not take it fetches for itself"))
    }
    if host.lags {
      findings.append(
        .note(
          "fleet", "\(host.name) still has \(host.reply.display("waiting")) purges to carry out",
          remedy: "see whether its disk and its processor are busy: imgctl top on \(host.name)"))
    }
    return findings
  }
}
